// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Pipeline files that take each other over.

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "config/pipeline.hpp"

// Pipeline files of one test, which may take each other over by name of file.
class Files {
 public:
  Files() {
    static int made = 0;
    folder_ = std::filesystem::temp_directory_path() / ("sluice_pipelines_" + std::to_string(::getpid()) + "_" + std::to_string(made++));
    std::filesystem::create_directories(folder_);
  }
  ~Files() { std::filesystem::remove_all(folder_); }
  Files(const Files&) = delete;
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  sluice::WrittenPipeline load(const std::string& name) { return sluice::load_pipeline_file(folder_ / name, diagnostics_); }
  // The problems of a file that extends base.toml with this text, without the folder's name.
  std::string problems_of(const std::string& text) {
    write("over.toml", "[pipeline]\nname = \"over\"\nextends = \"base.toml\"\n" + text);
    diagnostics_ = {};
    load("over.toml");
    return problems();
  }
  std::string problems() const {
    std::string all;
    const std::string folder = folder_.string() + "/";
    for (const sluice::Diagnostic& diagnostic : diagnostics_.list()) {
      std::string line = diagnostic.text();
      for (std::size_t at = 0; (at = line.find(folder)) != std::string::npos;) line.erase(at, folder.size());
      all += line + "\n";
    }
    return all;
  }

 private:
  std::filesystem::path folder_;
  sluice::Diagnostics diagnostics_;
};
