#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# What conda build runs; not run by us.
set -euo pipefail
(cd chart.js && ar x chart.js.deb && tar -xf data.tar.xz)
cmake -S . -B build/conda -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$PREFIX" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_PREFIX_PATH="$PREFIX" \
  -DSLUICE_TESTS=OFF -DSLUICE_CUDA=OFF -DCHART_JS="$PWD/chart.js/usr/share/javascript/chart.js/chart.min.js"
cmake --build build/conda --target program
cmake --install build/conda
