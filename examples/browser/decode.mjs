// Decodes h5stz streams in JavaScript, in node or a browser: the core as WebAssembly, docs/recipes.md says how to build it.
//
//   node decode.mjs MODULE STREAM...
//
// MODULE is stz.wasm, a STREAM what h5stz.compress returns, or the bytes of an HDF5 chunk. Prints type, shape and SHA-256 of each array.

// Modules of node are asked for where there is node: a browser has none of them.
const isNode = typeof process !== "undefined" && Boolean(process.versions?.node);

async function bytesOf(place) {
  if (typeof place !== "string") return place; // an ArrayBuffer, or a view of one
  if (isNode) return (await import("node:fs")).readFileSync(place);
  return (await fetch(place)).arrayBuffer();
}

const types = [, "f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "c8", "c16", "bfloat16", "float8_e4m3fn", "float8_e5m2"];
// stz_stream_info of stz.h: its size, and where some of its fields are.
const info = { bytes: 864, dtype: 8, byteOrder: 12, rank: 16, shape: 24, arrayBytes: 304 };

// The functions of the module at a path (in node), at an address (in a browser), or in bytes. It asks for a clock and an environment, and can do without.
export async function load(place) {
  const module = await WebAssembly.compile(await bytesOf(place));
  const imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) (imports[from] ??= {})[name] = () => 52; // not supported
  const stz = (await WebAssembly.instantiate(module, imports)).exports;
  stz._initialize?.();
  return stz;
}

function check(stz, code) {
  if (code === 0) return;
  const text = new Uint8Array(stz.memory.buffer, stz.stz_error_text(code), 256);
  throw new Error(new TextDecoder().decode(text.subarray(0, text.indexOf(0))));
}

// A block of the module's memory, during a call of work(address).
function withMemory(stz, bytes, work) {
  const address = stz.malloc(Math.max(bytes, 1));
  if (address === 0) throw new Error(`no memory for ${bytes} bytes`);
  try {
    return work(address);
  } finally {
    stz.free(address);
  }
}

// The array of a stream: {dtype, shape, bytes}. dtype as in numpy; the samples are in C order.
export function decode(stz, stream) {
  return withMemory(stz, stream.length, (source) => {
    new Uint8Array(stz.memory.buffer).set(stream, source);
    const [dtype, shape, size] = withMemory(stz, info.bytes, (header) => {
      new DataView(stz.memory.buffer, header, info.bytes).setUint32(0, info.bytes, true);
      check(stz, stz.stz_info(source, stream.length, header));
      const view = new DataView(stz.memory.buffer, header, info.bytes); // anew: the memory moves where it grows
      const type = types[view.getInt32(info.dtype, true)];
      const order = type.endsWith("1") || type.startsWith("float8") ? "|" : view.getInt32(info.byteOrder, true) ? ">" : "<";
      const extents = Array.from({ length: view.getInt32(info.rank, true) }, (_, axis) =>
        Number(view.getBigUint64(info.shape + 8 * axis, true)),
      );
      return [order + type, extents, Number(view.getBigUint64(info.arrayBytes, true))];
    });
    return withMemory(stz, size, (target) => {
      check(stz, stz.stz_decompress(source, stream.length, target, size));
      return { dtype, shape, bytes: new Uint8Array(stz.memory.buffer).slice(target, target + size) };
    });
  });
}

async function main() {
  const { createHash } = await import("node:crypto");
  const [modulePath, ...paths] = process.argv.slice(2);
  const stz = await load(modulePath);
  for (const path of paths) {
    try {
      const { dtype, shape, bytes } = decode(stz, await bytesOf(path));
      console.log(JSON.stringify({ path, dtype, shape, sha256: createHash("sha256").update(bytes).digest("hex") }));
    } catch (error) {
      console.log(JSON.stringify({ path, error: error.message }));
      process.exitCode = 1;
    }
  }
}

if (isNode && process.argv[1]) {
  const { resolve } = await import("node:path");
  const { pathToFileURL } = await import("node:url");
  if (import.meta.url === pathToFileURL(resolve(process.argv[1])).href) await main();
}
