// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A FASTA or FASTQ file, opened for random access.

#include <cstdint>
#include <functional>
#include <sluice/file_descriptor.hpp>
#include <string>
#include <vector>

#include "sequence_store/parallel_scan.hpp"
#include "sequence_store/sequence_scan.hpp"

namespace sluice::sequence_store {

struct StoredFile {
  SequenceTable table;
  FileDescriptor file;                   // where the table's offsets point into: the file itself, or the temporary one
  std::int64_t spooled = 0;              // bytes of the temporary file; 0: there is none
  std::string why_spooled;               // "it is compressed ..."
  std::vector<std::string> empty_files;  // of several: those without a record
};

// A plain file is scanned and stays where it is. What has no random access (gzip, BGZF, a pipe, records with lines of unequal length) is written once
// to an unlinked file in the temporary folder, letters only. `cancelled` is asked now and then, from any thread. Throws Failure (input) naming the
// file.
StoredFile open_stored_file(const std::string& path, const Parallel& parallel, const std::function<bool()>& cancelled);

// Several files as one, in this order: their letters are written to a temporary file, too.
StoredFile open_stored_files(const std::vector<std::string>& paths, const std::function<bool()>& cancelled);

}  // namespace sluice::sequence_store
