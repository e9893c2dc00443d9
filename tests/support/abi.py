"""What is binary about the C API: exported symbols, prototypes, structures and constants, as text that can be compared.

The headers are read as text, so that nothing new is forgotten; a compiler tells sizes and offsets.
"""

import re
import subprocess

from support.paths import ROOT

INCLUDE = ROOT / "filter" / "include"


def exported_symbols(library):
    """The names that a shared library offers to others, sorted."""
    lines = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True, stdout=subprocess.PIPE).stdout
    return sorted(line.split()[-1].split("@")[0] for line in lines.splitlines() if line.split()[-2] != "A")


def headers():
    """The public headers."""
    return sorted(INCLUDE.glob("*.h"))


def _text(header):
    """A header without comments, and with continued lines joined."""
    return re.sub(r"/\*.*?\*/", "", header.read_text().replace("\\\n", " "), flags=re.DOTALL)


def prototypes():
    """The declarations of all functions, one a line."""
    found = [text for header in headers() for text in re.findall(r"^STZ_API ([^;]*);", _text(header), re.MULTILINE)]
    return [" ".join(text.split()) for text in found]


def structures():
    """{name: names of the fields} of all structures that users see."""
    found = {}
    for header in headers():
        for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", _text(header), re.DOTALL):
            fields = [
                re.search(r"\(\*(\w+)\)|(\w+)(\[[^\]]+\])?$", field.strip()) for field in body.split(";") if field.strip()
            ]
            found[name] = [match[1] or match[2] for match in fields]
    return found


def constants():
    """The names of all enumerators and numeric macros, but those of the version."""
    names = []
    for header in headers():
        names += re.findall(r"\b(STZ_\w+)(?= = -?\d+\b)", _text(header))
        names += re.findall(r"^ *X\((STZ_\w+),", header.read_text(), re.MULTILINE)
        names += re.findall(r"^#define (STZ_\w+) (?=[(\d])", _text(header), re.MULTILINE)
    return [name for name in names if not name.startswith("STZ_VERSION_")]


def _program():
    lines = ["#include <stddef.h>", "#include <stdio.h>", "#define STZ_H5_OWN_TYPES"]
    lines += [f'#include "{header.name}"' for header in headers()]
    lines += ["int main(void) {"]
    for name, fields in structures().items():
        lines += [f'  printf("{name}: %zu bytes\\n", sizeof({name}));']
        for field in fields:
            place = f"offsetof({name}, {field}), sizeof((({name} *)0)->{field})"
            lines += [f'  printf("  {field}: at %zu, %zu bytes\\n", {place});']
    lines += [f'  printf("{name} = %lld\\n", (long long){name});' for name in constants()]
    return "\n".join([*lines, "  return 0;", "}", ""])


def sizes_and_values(directory, compiler="cc"):
    """Sizes and offsets of all structures and the values of all constants, one a line, as a C compiler sees them."""
    source, program = directory / "abi.c", directory / "abi"
    source.write_text(_program())
    subprocess.run([compiler, f"-I{INCLUDE}", source, "-o", program], check=True)
    return subprocess.run([program], check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()
