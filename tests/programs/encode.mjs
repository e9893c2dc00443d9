// Encodes golden arrays with the core as WebAssembly: tests/stream/test_wasm.py.
//
//   node encode.mjs DECODE_MJS MODULE DIRECTORY
//
// DECODE_MJS is examples/browser/decode.mjs, DIRECTORY what tests/support/golden_files.py writes. Prints the names of streams that
// are not encoded to the same bytes, and how many were encoded. Exits with 1 if there are any.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [decodeModule, modulePath, directory] = process.argv.slice(2);
const { load } = await import(pathToFileURL(decodeModule));
const stz = await load(modulePath);
const structureBytes = 4096; // STZ_MAX_STRUCT_SIZE: what the module does not know of a structure it sets to 0
const layoutOffset = 8; // of `layout` in stz_stream_info

// The array as a stream of the same layout as `stream`.
function encode(array, stream, options) {
  const addresses = [];
  const allocate = (bytes) => addresses[addresses.push(stz.malloc(Math.max(bytes, 1))) - 1];
  const put = (bytes) => {
    const address = allocate(bytes.length);
    new Uint8Array(stz.memory.buffer).set(bytes, address);
    return address;
  };
  const structure = () => put(new Uint8Array(new Uint32Array(structureBytes / 4).fill(structureBytes, 0, 1).buffer));
  const view = () => new DataView(stz.memory.buffer); // anew: the memory moves where it grows
  try {
    const infoAt = structure();
    const optionsAt = structure();
    const typeAt = allocate(4);
    const sizeAt = allocate(4);
    const layoutAt = infoAt + layoutOffset;
    let code = stz.stz_info(put(stream), stream.length, infoAt);
    view().setInt32(typeAt, view().getInt32(layoutAt, true), true);
    if (code === 0) code = stz.stz_options_parse_text(put(new TextEncoder().encode(`${options}\0`)), typeAt, optionsAt, 0, 0);
    const capacity = stz.stz_max_compressed_size(layoutAt);
    const out = allocate(capacity);
    if (code === 0) code = stz.stz_compress(layoutAt, put(array), optionsAt, out, capacity, sizeAt);
    if (code !== 0) throw new Error(`error ${code}`);
    return new Uint8Array(stz.memory.buffer).slice(out, out + view().getUint32(sizeAt, true));
  } finally {
    addresses.forEach((address) => stz.free(address));
  }
}

let count = 0;
for (const line of readFileSync(join(directory, "cases"), "utf8").trim().split("\n")) {
  const [name, options, previous] = line.split(" ");
  if (options === "-" || previous !== "-") continue;
  const [array, stream] = ["array", "stz"].map((suffix) => readFileSync(join(directory, `${name}.${suffix}`)));
  if (!stream.equals(encode(array, stream, options))) {
    console.log(`${name}: other bytes`);
    process.exitCode = 1;
  }
  count++;
}
console.log(count);
