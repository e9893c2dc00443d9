"""A copied file has everything that its source has: h5diff finds no difference, and neither does a walk through both."""

import h5py
import numpy as np
import pytest
from h5py import h5a, h5g, h5o, h5p, h5t

from h5stz.files import copy_tree
from support import host_tools
from support.fields import random_field
from support.requirements import needs_packages, needs_programs

RNG = np.random.default_rng(1)


def copy(source_path, target_path, store=lambda *_: False):
    with h5py.File(source_path) as source, copy_tree.new_file(source, str(target_path)) as target:
        return copy_tree.copy_tree(source, target, store)


def groups_and_links(file):
    file.create_group("a/b/c", track_order=True)
    for name in ("z", "y", "x"):
        file["a/b/c"].create_dataset(name, data=RNG.normal(size=(3, 4)))
    file["hard"] = file["a/b"]  # a cycle besides
    file["a/b/root"] = file["/"]
    file["same"] = file["a/b/c/x"]
    file["soft"] = h5py.SoftLink("/a/b/c/y")
    file["dangling"] = h5py.SoftLink("/nowhere")
    file["external"] = h5py.ExternalLink("other.h5", "/x")
    file["größe"] = 1.5


def types(file):
    for name in "u1 <i2 >i4 >u8 <f2 >f4 <f8 c8 >c16 bool S7".split():
        file[f"type {name}"] = np.zeros(5, name)
    file["enum"] = np.arange(4).astype(h5py.enum_dtype({"a": 0, "b": 1, "c": 2, "d": 3}, "u1"))
    file["strings"] = np.array(["a", "längere", ""], object).astype(h5py.string_dtype())
    file.create_dataset("ragged", (3,), h5py.vlen_dtype("i4"))[1] = np.arange(9)
    file["compound"] = np.array([(1, 2.5, (3, 4), b"x")], [("i", "<i4"), ("f", ">f8"), ("s", "u1", 2), ("t", "S3")])
    file["opaque"] = np.zeros(3, h5py.opaque_dtype("M8[s]"))
    file["scalar"], file["empty"], file["null"] = 3, np.empty((0, 5)), h5py.Empty("f4")
    file["named"] = np.dtype([("x", "f4"), ("y", "f4")])
    file.create_dataset("of a named type", (4,), file["named"])[...] = (1, 2)
    file["of a named type"].attrs.create("also", np.zeros(2, file["named"].dtype), dtype=file["named"])
    odd = h5t.IEEE_F32LE.copy()
    odd.set_fields(30, 22, 8, 0, 22)
    h5a.create(file["scalar"].id, b"odd float", odd, h5py.h5s.create(h5py.h5s.SCALAR))


def layouts(file):
    data = random_field((40, 50), 3, 1).astype("f4")
    file.create_dataset("contiguous", data=data)
    file.create_dataset("chunked", data=data, chunks=(16, 16), maxshape=(None, 50), fillvalue=-1)
    file.create_dataset("filtered", data=data, chunks=(16, 16), compression=4, shuffle=True, fletcher32=True, scaleoffset=None)
    file.create_dataset("never written", (30, 30), "f4", chunks=(10, 10), fillvalue=7)
    file.create_dataset("sparse", (30, 30), "f4", chunks=(10, 10))[12, 12] = 1
    compact = h5p.create(h5p.DATASET_CREATE)
    compact.set_layout(h5py.h5d.COMPACT)
    h5py.h5d.create(file.id, b"compact", h5t.NATIVE_INT32, h5py.h5s.create_simple((4,)), compact)
    layout = h5py.VirtualLayout((2, 40), "f4")
    for row in range(2):
        layout[row] = h5py.VirtualSource(".", "contiguous", (40, 50))[:, row]
    file.create_virtual_dataset("virtual", layout)


def attributes(file):
    group = file.create_group("g", track_order=True)
    for name in "zyx":
        group.attrs[name] = np.arange(3.0)
    group.attrs["text"], group.attrs["texts"] = "grün", ["a", "bc"]
    group.attrs["fixed"], group.attrs["null"] = np.bytes_("abc"), h5py.Empty("S4")
    group.attrs["large"] = np.zeros(6000)
    group.attrs["array"] = np.zeros((2, 3), ">i2")
    h5g.GroupID.set_comment(file["/"].id, b"g", b"a comment")
    h5g.GroupID.set_comment(file["/"].id, b".", b"another one")


def references(file):
    x = file.create_dataset("x", data=np.arange(5.0))
    data = file.create_dataset("data", data=random_field((5, 6), 3, 1))
    x.make_scale("x")
    data.dims[0].attach_scale(x)
    data.dims[0].label = "x"
    objects = file.create_dataset("objects", (4,), h5py.ref_dtype)
    objects[0], objects[1], objects[3] = x.ref, data.ref, file["/"].ref
    regions = file.create_dataset("regions", (2,), h5py.regionref_dtype)
    regions[0] = data.regionref[1:3, 2:5]
    pairs = np.array([(1, data.ref), (2, x.ref)], [("n", "i4"), ("to", h5py.ref_dtype)])
    file.create_dataset("compound", data=pairs)
    file["x"].attrs["to"] = data.ref
    file["x"].attrs["region"] = data.regionref[0, :]


CONTENTS = {each.__name__: each for each in (groups_and_links, types, layouts, attributes, references)}


def described(file):
    """What can be told of every object and link, with references by the names that they lead to."""
    found, first = {}, {}  # first: the place at which an object was met first, by its address

    def value_of(value):
        if isinstance(value, h5py.RegionReference):
            return ("region", file[value].name, file[value].regionref.selection(value)) if value else None
        if isinstance(value, h5py.Reference):
            return ("object", file[value].name) if value else None
        if isinstance(value, np.ndarray) and (value.dtype.names or value.dtype.hasobject):
            return value.shape, [value_of(each) for each in value.ravel()]
        if isinstance(value, np.void) and value.dtype.names:
            return [value_of(value[name]) for name in value.dtype.names]
        return (value.dtype.str, value.shape, value.tobytes()) if hasattr(value, "tobytes") else value

    def properties(item):
        plist = item.id.get_create_plist()
        return plist.get_attr_creation_order(), h5p.PropOCID.get_attr_phase_change(plist)

    def visit(name, item):
        attributes = [(key, value_of(value)) for key, value in item.attrs.items() if key != "odd float"]
        comment = file["/"].id.get_comment(name.encode() or b".")
        if isinstance(item, h5py.Datatype):
            found[name] = ("type", item.dtype, attributes)
        elif isinstance(item, h5py.Group):
            links = [(key, type(link), vars(link)) for key in item for link in [item.get(key, getlink=True)]]
            same = [
                first.setdefault(h5o.get_info(item[key].id).addr, (name, key))
                for key, kind, _ in links
                if kind is h5py.HardLink
            ]
            links.append(same)
            found[name] = ("group", links, attributes, properties(item), comment)
        else:
            chunks = []
            if item.chunks:
                item.id.get_num_chunks() and chunks.extend(
                    item.id.read_direct_chunk(item.id.get_chunk_info(k).chunk_offset) for k in range(item.id.get_num_chunks())
                )
            shape = None if item.shape is None else (item.shape, item.maxshape)
            value = None if item.shape is None else value_of(item[()])
            plist = item.id.get_create_plist()
            filters = [plist.get_filter(k) for k in range(plist.get_nfilters())]
            stored = (item.id.get_type().equal(item.id.get_type()), item.dtype, plist.get_layout(), item.chunks, filters)
            raw = () if h5py.check_vlen_dtype(item.dtype) or item.dtype.hasobject else chunks
            fill = None if item.dtype.hasobject else value_of(np.asarray(item.fillvalue))
            found[name] = ("dataset", shape, value, stored, raw, fill, attributes, properties(item), comment)

    visit("", file["/"])
    file.visititems(visit)
    return found


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_everything_is_kept(content, libver, tmp_path):
    with h5py.File(tmp_path / "a.h5", "w", libver=libver) as file:
        content(file)
    keeps(tmp_path)


@pytest.mark.parametrize("userblock", [0, 512])
def test_properties_of_the_file_are_kept(userblock, tmp_path):
    with h5py.File(tmp_path / "a.h5", "w", track_order=True, userblock_size=userblock) as file:
        for name in "zyx":
            file[name], file.attrs[name] = 1, name
    keeps(tmp_path)
    with h5py.File(tmp_path / "b.h5") as file:
        assert list(file) == list(file.attrs) == ["z", "y", "x"] and file.userblock_size == userblock


@needs_packages("netCDF4")
@needs_programs("ncdump")
def test_netcdf(tmp_path):
    """Order of dimensions and variables, dimensions without variables, groups, unlimited ones, text, enumerations."""
    import netCDF4

    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        for name, size in (("t", None), ("z", 3), ("bare", 7), ("a", 4)):
            file.createDimension(name, size)
        group = file.createGroup("deep").createGroup("deeper")
        group.createDimension("own", 2)
        for where, name, dimensions in ((file, "z", ("z",)), (file, "b", ("t", "z", "a")), (group, "c", ("own", "z"))):
            where.createVariable(name, "f4", dimensions, zlib=True)[...] = 3
        file.createVariable("text", str, ("bare",))[...] = np.array(list("abcdefg"), object)
        weather = file.createEnumType(np.uint8, "weather", {"dry": 0, "wet": 1})
        file.createVariable("flag", weather, ("a",))[...] = [0, 1, 1, 0]
        file.title = "grün"
    keeps(tmp_path, ".nc")
    before, after = (host_tools.run("ncdump", tmp_path / f"{name}.nc").partition("\n")[2] for name in "ab")
    assert before == after


def keeps(directory, suffix=".h5"):
    """Asserts that a copy of the file a is equal to it."""
    assert copy(directory / f"a{suffix}", directory / f"b{suffix}") == []
    with h5py.File(directory / f"a{suffix}") as a, h5py.File(directory / f"b{suffix}") as b:
        before, after = described(a), described(b)
        assert list(before) == list(after)
        for name in before:
            assert before[name] == after[name], name
