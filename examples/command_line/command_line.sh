#!/bin/bash
# The commands of h5stz, one after the other.
# Unmodified HDF5 and netCDF programs read and write compressed files: they find the plug-in through HDF5_PLUGIN_PATH.
#
#   bash command_line.sh
#
# Prints a heading for each step and what its commands say: bounds, ratios, largest errors. Needs h5repack, h5dump and h5ls
# (hdf5-tools) and nccopy (netcdf-bin). Writes its files into the current directory.
set -euo pipefail
python=${PYTHON:-python3}

HDF5_PLUGIN_PATH=$("$python" -m h5stz plugin-path)
export HDF5_PLUGIN_PATH

step() { printf '\n== %s\n' "$1"; }

# A file without compression, as any program could have written it.
"$python" - <<'EOF'
import h5py, numpy as np
field = np.fromfunction(lambda z, y, x: np.sin(z / 9) * np.cos(y / 7) + x / 64, (40, 64, 64), dtype="f4")
with h5py.File("plain.h5", "w", track_order=True) as file:
    file.create_dataset("rho", data=field, chunks=(40, 64, 64))
    file.create_dataset("constants", data=np.arange(4))
EOF

step "Compress a file"
# A whole file in one go: what would be done, then what became of each dataset.
"$python" -m h5stz compress plain.h5 --absolute 0.001 --dry-run
"$python" -m h5stz compress plain.h5 whole.h5 --absolute 0.001
"$python" -m h5stz info whole.h5

step "The arguments for other programs"
# The arguments for a bound. The client data are integers: 102 = integer form, 1 = absolute, then 1 x 10^-3.
"$python" -m h5stz args --absolute 0.001 --variable rho

step "h5repack and nccopy compress"
# Compress one dataset of an existing file within 1e-3, and restore a file without the filter.
h5repack -f rho:UD=34765,0,4,102,1,1,3 plain.h5 compressed.h5
h5repack -f rho:NONE compressed.h5 restored.h5

# The same with nccopy. If the file already has filters, remove them first, in a run of its own with "-F none".
nccopy -F rho,34765,102,1,1,3 plain.h5 compressed.nc

step "Any program reads"
# Any program reads the samples.
h5ls -v compressed.h5/rho | grep Filter
h5dump -d rho -s 0,0,0 -c 1,1,4 compressed.h5
h5dump -d rho -s 0,0,0 -c 1,1,4 compressed.nc

step "Ratios and errors"
"$python" - <<'EOF'
import h5py, numpy as np
with h5py.File("plain.h5") as plain:
    for name in ("whole.h5", "compressed.h5", "restored.h5", "compressed.nc"):
        with h5py.File(name) as file:
            error = np.abs(file["rho"][...].astype("f8") - plain["rho"][...]).max()
            ratio = plain["rho"].nbytes / file["rho"].id.get_storage_size()
            print(f"{name}: ratio {ratio:.1f}, max error / bound: {error / 1e-3:.6f}")
EOF

step "Compare two files, take a part of one"
# How far the compressed file is from the original; a part of a dataset for another program.
"$python" -m h5stz compare plain.h5 whole.h5 --within 0.001
"$python" -m h5stz extract whole.h5::/rho --region 0:8,:,5 -o part.npy --overwrite

step "A program writes compressed and reads a part, unchanged"
# A program that creates a plain dataset writes it compressed; a program that reads a small part of it decodes a few blocks.
cat > sim.py <<'EOF'
import h5py, numpy as np
field = np.fromfunction(lambda z, y, x: np.sin(z / 9) * np.cos(y / 7) + x / 64, (128, 128, 128), dtype="f4")
with h5py.File("sim.h5", "w") as file:
    file.create_dataset("rho", data=field)
EOF
"$python" -m h5stz run --compress '/rho*=absolute:0.001,block=region' -- "$python" sim.py
"$python" -m h5stz info sim.h5
"$python" -m h5stz run --stats -- h5dump -d rho -s 60,60,60 -c 1,2,4 sim.h5

step "The same through a VOL connector"
# The same through a VOL connector, in programs with HDF5 1.14 or newer.
cat > look.py <<'EOF'
import h5py
print(h5py.File("sim.h5", rdcc_nbytes=1 << 20)["rho"][60, 60:62, 60:64])  # into a larger chunk cache HDF5 reads whole chunks
EOF
"$python" -m h5stz run --through connector --stats -- "$python" look.py
