// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "kmer_model/f5c_source.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sluice/testing.hpp>
#include <string>

#include "generators/f5c_models.hpp"
#include "kmer_model/model_file.hpp"

using namespace sluice::kmer_model;
using f5c_models::Model;
using f5c_models::Shape;
using f5c_models::source;
using sluice::Alphabet;

namespace {

const Model cpg{.array = "r10_4_400bps_cpg_3mer_template_model_builtin_data", .k = 3};
const Model nucleotide{.array = "r9_4_450bps_nucleotide_3mer_template_model_builtin_data", .letters = "ACGT", .k = 3};
const Model rna{.array = "r9_4_70bps_u_to_t_rna_3mer_template_model_builtin_data", .letters = "ACGT", .k = 3};
const ModelUse r10_5mc{"r10", Alphabet::methylation};

struct Read {
  bool ok = false;
  KmerModel model;
  ModelProblem problem;
  std::string said() const { return ok ? "" : std::to_string(problem.line) + ": " + problem.what; }
};

Read read(const std::string& text, const ModelUse& use = r10_5mc, std::size_t piece = std::string::npos) {
  F5cSource source(use);
  for (std::size_t at = 0; at < text.size(); at += std::min(piece, text.size() - at))
    if (!source.take(std::string_view(text).substr(at, piece))) break;
  Read result;
  result.ok = source.finish(result.model, result.problem);
  return result;
}

bool is_that_of(const Read& read, const Model& model) {
  KmerModel expected;
  ModelProblem problem;
  const Alphabet alphabet = model.letters.size() == 4 ? Alphabet::nucleotide : Alphabet::methylation;
  REQUIRE(parse_kmer_model(f5c_models::text(model), alphabet, expected, problem));
  CHECK_MESSAGE(read.ok, read.said());
  return read.ok && read.model.k == model.k && read.model.level_mean == expected.level_mean && read.model.level_stdv == expected.level_stdv &&
         read.model.log_level_stdv == expected.log_level_stdv && read.model.name == model.array;
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("f5c's source gives its model to the digit, whatever its layout") {
  for (const Shape shape : {Shape::two_numbers, Shape::four_numbers, Shape::without_comments})
    for (const char* declaration : {"float", "static float", "const float", "static const float", "float const", "extern float"})
      for (const char* line_end : {"\n", "\r\n"}) CHECK(is_that_of(read(source(cpg, shape, declaration, line_end)), cpg));
  const std::string text = source(cpg, Shape::two_numbers);
  for (const std::size_t piece : {1, 2, 3, 7, 1000}) CHECK(is_that_of(read(text, r10_5mc, piece), cpg));
  CHECK(is_that_of(read(text.substr(0, text.size() - 1)), cpg));                                                  // no end of the last line
  CHECK(is_that_of(read(changed(text, "\n};", ",\n} ;")), cpg));                                                  // a comma behind the last number
  CHECK(is_that_of(read(changed(text, "[]", " [ SIZE(2 * 125) ] ")), cpg));                                       // brackets with something in them
  CHECK(is_that_of(read("float " + cpg.array + "[2];\nextern float x[] ;\n" + text), cpg));                       // declarations are no models
  CHECK(is_that_of(read("// float " + cpg.array + "[] = {\n/* float a[] = { 1 };\n*/\n" + text + "/**/"), cpg));  // nor are comments
  CHECK(is_that_of(read("#define X /* \\\n" + text + "*/\nchar s[] = \"/*\\\"\", c = '\"';\n" + text), cpg));
  CHECK(is_that_of(read("#define X float " + cpg.array + "[] = { \\\n 1 };\n#if 1\n" + text + "#endif\n"), cpg));
}

TEST_CASE("numbers of C: exponents, suffixes, several on a line, comments between them") {
  std::string text = "float " + cpg.array + "[250]={";
  for (std::size_t rank = 0; rank < cpg.count(); ++rank) {
    const char* between = rank % 3 == 0 ? "f/*,*/,\n" : rank % 3 == 1 ? "e0 , // a note of words\n" : "E+00F,";
    text += "+" + cpg.level_mean(rank) + between + cpg.level_stdv(rank) + ",";
  }
  CHECK(is_that_of(read(text + "};"), cpg));
}

TEST_CASE("the array of the model that is asked for is taken") {
  const Model r9{.array = "r9_4_450bps_cpg_3mer_template_model_builtin_data", .k = 3, .shift_of_m = -2};
  const std::string all = source(nucleotide, Shape::four_numbers, "static float") + source(rna, Shape::four_numbers, "static float") +
                          source(r9, Shape::two_numbers) + source(cpg, Shape::two_numbers);
  CHECK(is_that_of(read(all), cpg));
  CHECK(is_that_of(read(all, {"r9", Alphabet::methylation}), r9));
  CHECK(is_that_of(read(all, {"r9", Alphabet::nucleotide}), nucleotide));
  CHECK(is_that_of(read(all, {"rna_r9", Alphabet::nucleotide}), rna));
  std::string of_u = source(rna, Shape::two_numbers);
  for (char& letter : of_u) letter = letter == 'T' ? 'U' : letter;
  CHECK(is_that_of(read(of_u, {"rna_r9", Alphabet::nucleotide}), rna));
  CHECK(says(read(all, {"r10", Alphabet::nucleotide}).said(), "0: no array of it is that of a model of r10, nucleotide; it has " + nucleotide.array +
                                                                  ", " + rna.array + ", " + r9.array + ", " + cpg.array));
  CHECK(says(read(all, {"", Alphabet::methylation}).said(), "several arrays of it are models of cpg; it has " + nucleotide.array));
  CHECK(is_that_of(read(source(cpg, Shape::two_numbers), {"", Alphabet::methylation}), cpg));
  CHECK(says(read(source(cpg, Shape::two_numbers) + source(cpg, Shape::two_numbers)).said(), "several arrays"));
  CHECK(says(read("int main() { return 0; }").said(), "it has no float array with numbers"));
  CHECK(says(read("").said(), "no float array"));
}

TEST_CASE("a damaged source is refused with its line, with what was expected and what was found") {
  for (const Shape shape : {Shape::two_numbers, Shape::four_numbers}) {
    const std::string text = source(cpg, shape);
    const auto line_of = [&](std::size_t rank) { return text.find("\n    " + cpg.level_mean(rank) + ",") + 1; };
    const auto without = [&](std::size_t rank) {
      std::string less = text;
      return less.erase(line_of(rank), less.find('\n', line_of(rank)) + 1 - line_of(rank));
    };
    CHECK(says(read(without(30)).said(), "expected " + cpg.kmer(30) + ", found '" + cpg.kmer(31) + "'"));
    CHECK(read(without(30)).problem.line == 32);
    const std::size_t columns = shape == Shape::two_numbers ? 2 : 4;
    CHECK(says(read(without(30)).said(), "has " + std::to_string(124 * columns) + " numbers, and 125 3-mers of 5 letters need 250 or 500"));
    std::string swapped = text;
    swapped.replace(swapped.find(cpg.kmer(7)), 3, cpg.kmer(8));
    CHECK(says(read(swapped).said(), "9: a k-mer of the array " + cpg.array + ": expected " + cpg.kmer(7) + ", found '" + cpg.kmer(8) + "'"));
    Model t_before_m = cpg;
    t_before_m.letters = "ACGTM";
    CHECK(says(read(source(t_before_m, shape)).said(), "5: a k-mer of the array " + cpg.array + ": expected AAM, found 'AAT'"));
    const std::string stdv = cpg.level_stdv(4);
    for (const char* wrong : {"0", "-1.5", "0.0f"}) {
      const Read zero =
          read(changed(text, cpg.level_mean(4) + (columns == 2 ? ",\t" : ",  ") + stdv, cpg.level_mean(4) + (columns == 2 ? ",\t" : ",  ") + wrong));
      CHECK(says(zero.said(), "6: the level_stdv of " + cpg.kmer(4) + " in the array " + cpg.array + ": expected more than 0, found '" + wrong));
    }
    for (const char* wrong : {"nan", "inf", "1e99", "0x1p3", "1.2.3", "x", "1e", "--1"})
      CHECK(says(read(changed(text, cpg.level_mean(2), wrong)).said(),
                 std::string("4: in the array ") + cpg.array + ": expected a finite number, found '" + wrong + "'"));
    CHECK(
        says(read(changed(text, cpg.level_mean(2), cpg.level_mean(2) + " 7")).said(), "4: in the array " + cpg.array + ": expected ',', found '7'"));
    CHECK(says(read(changed(text, cpg.level_mean(2), "{" + cpg.level_mean(2))).said(), "expected a number, found '{'"));
    CHECK(says(read(changed(text, cpg.level_mean(2) + ",", ",")).said(), "expected a number, found ','"));
    CHECK(says(read(text.substr(0, text.size() / 2)).said(), "the file ends inside the array " + cpg.array));
    CHECK(says(read(changed(text, "};", "}")).said(), "the file ends inside the array " + cpg.array + ": expected '};'"));
    CHECK(says(read(changed(text, "};", "} int x;")).said(), "expected ';', found 'int'"));
    CHECK(says(read(text + "/* open").said(), "the file ends inside a comment"));
  }
  const std::string bare = source(cpg, Shape::without_comments);
  const std::size_t line = bare.find('\n') + 1;
  CHECK(says(read(bare.substr(0, line) + bare.substr(bare.find('\n', line) + 1)).said(),
             "1: the array " + cpg.array + " has 248 numbers, and 125 3-mers of 5 letters need 250 or 500"));
  CHECK(says(read(changed(bare, "3mer", "12mer")).said(), "k may be 11 at most"));
  CHECK(says(read(changed(bare, "3mer", "4mer")).said(), "has 250 numbers, and 625 4-mers of 5 letters need 1250 or 2500"));
}

TEST_CASE("a file is known as source by its name or its first word, and a checkout by its files") {
  for (const char* path : {"methmodel.c", "model.h", "a/model.h.gz", "methmodel.c.xz"}) CHECK(is_c_source(path, "AAA 1 1"));
  for (const char* begin : {"#include <a>", "\n\n#ifndef X\n", "/* x", "// x", "static float", "float x"}) CHECK(is_c_source("x", begin));
  for (const char* begin : {"#ont_model_name\tx", "kmer\tlevel_mean", "AAAAAA 80 1", "", "#k 9"}) CHECK_FALSE(is_c_source("x.model", begin));

  const sluice::testing::TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::string& text) { std::ofstream(folder.path() + "/" + name, std::ios::binary) << text; };
  std::filesystem::create_directory(folder.path() + "/src");
  CHECK_THROWS_WITH_AS(load_model(folder.path(), r10_5mc),
                       ("k-mer model '" + folder.path() + "' is a folder without f5c's src/methmodel.c or src/model.h").c_str(), sluice::Failure);
  write("src/model.h", source(nucleotide, Shape::two_numbers, "static float") + source(cpg, Shape::two_numbers, "static float"));
  CHECK(load_model(folder.path(), r10_5mc).path == folder.path() + "/src/model.h");
  write("src/methmodel.c", source(cpg, Shape::two_numbers));
  const LoadedModel loaded = load_model(folder.path(), r10_5mc);
  CHECK(loaded.path == folder.path() + "/src/methmodel.c");
  CHECK(loaded.layout == ModelLayout::f5c_source);
  CHECK(loaded.model.alphabet_name == "cpg");
  CHECK(load_model(folder.path() + "/src", r10_5mc).path == folder.path() + "/src/methmodel.c");
  CHECK(load_model(folder.path(), {"r9", Alphabet::nucleotide}).model.k == 3);
  write("src/methmodel.c", changed(source(cpg, Shape::two_numbers), ",\t", ";\t"));
  CHECK_THROWS_WITH_AS(load_model(folder.path(), r10_5mc),
                       ("f5c source '" + folder.path() + "/src/methmodel.c':2: in the array " + cpg.array + ": expected ',', found ';'").c_str(),
                       sluice::Failure);
}
