// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The journal of a run: a checkpoint as one file beside the outputs, whole or not there. Read again it is data, whatever its bytes are: it is
// refused, or means a checkpoint whose files can only be what an earlier run of the same outputs has left.

#include <filesystem>
#include <optional>

#include "run/checkpoint.hpp"
#include "run/run_identity.hpp"

namespace sluice {

// The remedy where what was kept can't be used, the SDK's words too.
inline constexpr const char* begin_anew = "begin the run anew, without --resume";

// Synced, then under its name. States are copied from disk to disk, piece by piece. Throws Failure::output.
void write_journal(const std::filesystem::path& journal, const RunIdentity& identity, const Checkpoint& checkpoint);

struct Journal {
  RunIdentity identity;
  Checkpoint checkpoint;
};
// Nothing: there is no such file. Throws Failure::input for one that is damaged, of another version of sluice, or not this user's.
std::optional<Journal> read_journal(const std::filesystem::path& journal);
// Is there a regular file of this name?
bool is_left(const std::string& temporary);
// The same of bytes in memory, whose checksum is not looked at; `journal`: for messages. States point into the bytes.
Journal parse_journal(std::string_view bytes, const std::filesystem::path& journal);

}  // namespace sluice
