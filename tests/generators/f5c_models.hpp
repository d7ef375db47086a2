// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Made-up models in the shape of those that f5c compiles in, and the same figures as text.

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace f5c_models {

struct Model {
  std::string array;              // r10_4_400bps_cpg_9mer_template_model_builtin_data
  std::string letters = "ACGMT";  // in the order of ranks
  std::uint32_t k = 9;
  double shift_of_m = 3;  // pA for each M

  std::size_t count() const {
    std::size_t rows = 1;
    for (std::uint32_t i = 0; i < k; ++i) rows *= letters.size();
    return rows;
  }
  std::string kmer(std::size_t rank) const {
    std::string text(k, 'A');
    for (std::uint32_t i = k; i-- > 0; rank /= letters.size()) text[i] = letters[rank % letters.size()];
    return text;
  }
  // Figures as f5c's have them. A level is a hash of the k-mer with C for M, and the shift.
  std::string level_mean(std::size_t rank) const {
    std::uint64_t hash = 0xcbf29ce484222325U;
    double level = 60;
    for (const char letter : kmer(rank)) {
      hash = (hash ^ static_cast<unsigned char>(letter == 'M' ? 'C' : letter)) * 0x100000001b3U;
      level += letter == 'M' ? shift_of_m : 0;
    }
    return number(level + static_cast<double>((hash >> 20U) % 6'000'000) / 1e5);
  }
  std::string level_stdv(std::size_t rank) const { return number(1.5 + static_cast<double>(rank % 1000) / 1000); }

 private:
  static std::string number(double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.5f", value);
    return digits;
  }
};

enum class Shape { two_numbers, four_numbers, without_comments };

// static float NAME[] = { ... };
inline std::string source(const Model& model, Shape shape, std::string_view declaration = "float", std::string_view line_end = "\n") {
  std::string text = std::string(declaration) + " " + model.array + "[] = {" + std::string(line_end);
  const std::size_t rows = model.count();
  for (std::size_t rank = 0; rank < rows; ++rank) {
    const char* comma = rank + 1 < rows ? "," : "";
    text += "    " + model.level_mean(rank);
    if (shape == Shape::four_numbers)
      text += ",  " + model.level_stdv(rank) + ", 0.94148, 0.60936" + comma + " // " + model.kmer(rank);
    else
      text += ",\t" + model.level_stdv(rank) + comma + (shape == Shape::two_numbers ? "\t//\t" + model.kmer(rank) : "");
    text += line_end;
  }
  return text + "};" + std::string(line_end);
}

inline std::string text(const Model& model) {
  std::string text = "#k\t" + std::to_string(model.k) + "\nkmer\tlevel_mean\tlevel_stdv\n";
  const std::size_t rows = model.count();
  for (std::size_t rank = 0; rank < rows; ++rank) text += model.kmer(rank) + "\t" + model.level_mean(rank) + "\t" + model.level_stdv(rank) + "\n";
  return text;
}

// src/methmodel.c of f5c 1.5, of made-up figures.
inline std::string methmodel_c(const Model& r9, const Model& r10) {
  return "/* @file methmodel.c\n**\n** float commented_out[] = { 1, 2 };\n*/\n#include \"model.h\"\n\n" + source(r9, Shape::two_numbers) + "\n" +
         source(r10, Shape::two_numbers) + "\nextern float elsewhere[];\n";
}

}  // namespace f5c_models
