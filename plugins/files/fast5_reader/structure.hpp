// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The reads of a FAST5 file, single or multi, as a table. Layout: Oxford Nanopore's FAST5 (file versions 0.6 to 2.3) as public files have it: groups
// `read_*` at the root, or `/Raw/Reads/*` with `/UniqueGlobalKey`; `/Analyses` is not looked at.

#include <functional>
#include <sluice/fast5_table.hpp>
#include <string>

namespace sluice::fast5_reader {

// Of an HDF5 file; `next_read` is called before each read. What can't be read of the file is the table's `problem`, of a read that read's.
Fast5Table structure_of(const std::string& path, const std::function<void()>& next_read);

}  // namespace sluice::fast5_reader
