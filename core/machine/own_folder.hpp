// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once

#include <filesystem>

namespace sluice {

// Where this code lies: the program's folder, or that of the shared library that it is part of. Empty: nobody knows.
std::filesystem::path own_folder();

}  // namespace sluice
