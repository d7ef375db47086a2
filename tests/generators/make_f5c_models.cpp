// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Writes FOLDER/src/methmodel.c, as f5c 1.5 and later have it but of made-up figures, and FOLDER/r10.model: its R10 model as text.
//   make_f5c_models FOLDER
#include <filesystem>
#include <fstream>
#include <iostream>

#include "generators/f5c_models.hpp"

namespace {

bool write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  return static_cast<bool>(file.flush());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "make_f5c_models FOLDER\n";
    return 2;
  }
  const std::string folder = argv[1];
  std::filesystem::create_directories(folder + "/src");
  const f5c_models::Model r9{.array = "r9_4_450bps_cpg_6mer_template_model_builtin_data", .k = 6},
      r10{.array = "r10_4_400bps_cpg_9mer_template_model_builtin_data"};
  if (write(folder + "/src/methmodel.c", f5c_models::methmodel_c(r9, r10)) && write(folder + "/r10.model", f5c_models::text(r10))) return 0;
  std::cerr << "cannot write to '" << folder << "'\n";
  return 1;
}
