// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Formats by the ending of an output, options that do nothing without others, groups of the help.
#include "config/parameter_ties.hpp"

#include <doctest/doctest.h>

#include "config/pipeline_parameters.hpp"

using namespace sluice;

namespace {

const std::string stages = "[stages.s]\nuse = \"x\"\n";
const std::string head = "[pipeline]\nname = \"p\"\n" + stages;
const std::string formats = R"(
[parameters.output]
type = "path"
default = "-"
[parameters.format]
type = "choice"
choices = ["tsv", "m6anet", "sam", "paf"]
default = "tsv"
by_ending = { of = "output", tsv = ["tsv", "m6anet"], bam = "sam", sam = "sam", paf = "paf" }
[parameters.follow]
type = "bool"
default = false
[parameters.follow_idle]
type = "float"
default = 0
needs = "follow"
[parameters.index]
type = "path"
[parameters.k]
type = "int"
needs = "!index"
[parameters.tags]
type = "bool"
default = true
needs = ["format=sam|paf", "index"]
[parameters.introns]
type = "path"
needs = [["index"], ["format=sam", "!follow"]]
)";

struct Result {
  std::map<std::string, std::string> values;
  std::string said;  // all diagnostics
};

Result result_of(const std::string& parameters, const std::map<std::string, std::string>& given) {
  Diagnostics diagnostics;
  const WrittenPipeline pipeline = parse_pipeline(head + parameters, "p.toml", diagnostics);
  Overrides overrides;
  overrides.parameters = given;
  Result result{final_parameters(pipeline, overrides, diagnostics), ""};
  for (const Diagnostic& diagnostic : diagnostics.list()) result.said += diagnostic.text() + "\n";
  return result;
}
std::string format_for(const std::string& output) { return result_of(formats, {{"output", output}}).values.at("format"); }
bool says(const Result& result, const std::string& text) { return result.said.find(text) != std::string::npos; }

}  // namespace

TEST_CASE("the ending of an output says the format") {
  CHECK(format_for("o.paf") == "paf");
  CHECK(format_for("dir.bam/o.paf.gz") == "paf");
  CHECK(format_for("o.bam") == "sam");
  CHECK(format_for("o.tsv.arrow") == "tsv");
  CHECK(format_for("o.paf.parquet") == "paf");
  CHECK(format_for("o.PAF") == "paf");
  CHECK(format_for("o.Paf.GZ") == "paf");
  for (const char* unknown : {"-", "", "o", "o.txt", "paf", "dir.paf/o", "o.gz", ".", "o."}) {
    CAPTURE(unknown);
    CHECK(format_for(unknown) == "tsv");
  }
  CHECK(format_for(std::string(100000, '.')) == "tsv");
}

TEST_CASE("a format that is given holds, unless the ending of the output contradicts it") {
  const Result fits = result_of(formats, {{"output", "o.tsv"}, {"format", "m6anet"}});
  CHECK(fits.values.at("format") == "m6anet");
  CHECK(fits.said.empty());
  CHECK(result_of(formats, {{"output", "o.txt"}, {"format", "paf"}}).said.empty());
  CHECK(result_of(formats, {{"output", "o.paf"}, {"format", "m6anet"}}).said ==
        "command line: --format m6anet contradicts --output 'o.paf', whose ending asks for paf (leave out --format, or give the file another "
        "ending)\n");
  CHECK(says(result_of(formats, {{"output", "o.tsv.gz"}, {"format", "sam"}}), "asks for tsv or m6anet"));
}

TEST_CASE("an ending of another format is refused, one that nobody knows warned of") {
  CHECK(result_of(formats, {{"output", "o.feather"}}).said ==
        "command line: --output 'o.feather': Feather is not written here (end the name in .bam, .paf, .sam, .tsv, or say what it is to be: "
        "--format)\n");
  CHECK(says(result_of(formats, {{"output", "o.CSV.gz"}}), "--output 'o.CSV.gz': CSV is not written here"));
  CHECK(says(result_of(formats, {{"output", "o.bma"}}), "warning: --output 'o.bma': nobody knows the ending .bma"));
  CHECK(says(result_of(formats, {{"output", "o.bma"}}), "(did you mean .bam?)"));
  CHECK(result_of(formats, {{"output", "o.csv"}, {"format", "tsv"}}).said.empty());
  for (const char* silent : {"-", "o", "o.txt", "reads.v2", "o.2026-11-26", "dir.csv/o", "/dev/stdout", "o.PAF", "o.tsv.zst"}) {
    CAPTURE(silent);
    CHECK(result_of(formats, {{"output", silent}}).said.empty());
  }
  const std::string table = "[parameters.table]\ntype = \"path\"\nendings = [\"tsv\", \"csv\"]\n[parameters.other]\ntype = \"path\"\n";
  CHECK(result_of(table, {{"table", "o.csv"}, {"other", "o.bam"}}).said.empty());
  CHECK(says(result_of(table, {{"table", "o.bam"}}), "--table 'o.bam': BAM is not written here (end the name in .tsv, .csv)"));
}

TEST_CASE("Arrow and Parquet are refused where there is no table") {
  for (const char* table : {"o.arrow", "o.parquet", "o.tsv.parquet", "o.PAF.Arrow", "reads.v2.parquet"}) {
    CAPTURE(table);
    CHECK(result_of(formats, {{"output", table}}).said.empty());
  }
  CHECK(says(result_of(formats, {{"output", "o.bam.parquet"}}), "--output 'o.bam.parquet': Parquet is not written here, where there is no table"));
  const std::string reads = "[parameters.reads]\ntype = \"path\"\nendings = [\"fa\", \"fq\"]\n";
  CHECK(result_of(reads, {{"reads", "o.PARQUET"}}).said ==
        "command line: --reads 'o.PARQUET': Parquet is not written here, where there is no table (end the name in .fa, .fq)\n");
  CHECK(says(result_of(reads, {{"reads", "o.arrow"}}), "Arrow is not written here"));
  CHECK(says(result_of(formats, {{"output", "o.parquet.GZ"}}), "--output 'o.parquet.GZ': Parquet is compressed already (end the name in .parquet)"));
}

TEST_CASE("a choice may be written in any case, and a parameter by its former name") {
  CHECK(result_of(formats, {{"format", "SAM"}}).values.at("format") == "sam");
  CHECK(result_of(formats, {{"format", "SAM"}, {"output", "o.bam"}}).said.empty());
  CHECK(says(result_of(formats, {{"format", "SAN"}}), "did you mean 'sam'?"));
  Diagnostics diagnostics;
  const WrittenPipeline pipeline = parse_pipeline(head + "[parameters.reference]\ntype = \"path\"\nformerly = \"target\"\n", "p.toml", diagnostics);
  Overrides overrides;
  overrides.parameters["target"] = "x.fa";
  CHECK(final_parameters(pipeline, overrides.in_present_names(pipeline), diagnostics).at("reference") == "x.fa");
  CHECK(diagnostics.list().empty());
}

TEST_CASE("an option that does nothing without another says so, and does no harm") {
  CHECK(result_of(formats, {{"follow_idle", "3"}}).said ==
        "command line: warning: --follow-idle does nothing here: it works only with --follow (leave it out, or change that)\n");
  CHECK(result_of(formats, {{"follow_idle", "3"}}).values.at("follow_idle") == "3");
  CHECK(result_of(formats, {{"follow_idle", "3"}, {"follow", "true"}}).said.empty());
  CHECK(result_of(formats, {{"k", "3"}}).said.empty());
  CHECK(says(result_of(formats, {{"k", "3"}, {"index", "i"}}), "--k does nothing here: it works only without --index"));
  CHECK(result_of(formats, {{"tags", "true"}}).said.empty());  // as it would be anyway
  CHECK(says(result_of(formats, {{"tags", "false"}}), "--no-tags does nothing here: it works only with --format sam or paf or --index"));
  CHECK(result_of(formats, {{"tags", "false"}, {"output", "o.bam"}}).said.empty());  // the ending asks for sam
  const std::string both = "--introns does nothing here: it works only with --index, and with --format sam, or without --follow";
  CHECK(says(result_of(formats, {{"introns", "i"}}), both));
  CHECK(says(result_of(formats, {{"introns", "i"}, {"index", "i"}, {"follow", "true"}}), both));
  CHECK(result_of(formats, {{"introns", "i"}, {"index", "i"}}).said.empty());
  CHECK(result_of(formats, {{"introns", "i"}, {"index", "i"}, {"follow", "true"}, {"format", "sam"}}).said.empty());
}

TEST_CASE("mistakes in these keys are found") {
  CHECK(says(result_of("[parameters.k]\ntype = \"int\"\nneeds = \"l\"\n", {}), "parameter 'k': needs: there is no parameter 'l'"));
  CHECK(says(result_of("[parameters.k]\ntype = \"int\"\nneeds = 3\n", {}), "needs"));
  CHECK(says(result_of("[parameters.k]\ntype = \"int\"\ngroup = \"inputs\"\n", {}), "there is no group 'inputs'"));
  CHECK(says(result_of("[parameters.k]\ntype = \"int\"\nby_ending = { of = \"o\" }\n", {}), "only type \"choice\" goes by an ending"));
  const std::string choice = "[parameters.f]\ntype = \"choice\"\nchoices = [\"a\"]\n";
  CHECK(says(result_of(choice + "by_ending = { a = \"a\" }\n", {}), "by_ending does not say whose ending"));
  CHECK(says(result_of(choice + "by_ending = { of = \"o\", b = \"b\" }\n", {}), "'b' is none of the choices"));
  CHECK(says(result_of(choice + "by_ending = { of = \"o\", a = [\"a\", 3] }\n", {}), "each item must be a string"));
  CHECK(says(result_of(choice + "by_ending = { of = \"o\", a = \"a\" }\n", {}), "there is no parameter 'o'"));
  Diagnostics diagnostics;
  parse_pipeline("[pipeline]\nname = \"p\"\nhabits = { x = \"--k\", -y = 3 }\n" + stages, "p.toml", diagnostics);
  CHECK(diagnostics.list().size() == 2);
}

TEST_CASE("parameters without a group are hidden only where the file says what is common") {
  Diagnostics diagnostics;
  const std::string three =
      "[parameters.reads]\ntype = \"path\"\nrequired = true\n[parameters.output_table]\ntype = \"path\"\n[parameters.k]\ntype = \"int\"\n";
  const WrittenPipeline plain = parse_pipeline(head + three, "p.toml", diagnostics);
  CHECK(plain.parameters[0].group == "input");
  CHECK(plain.parameters[1].group == "output");
  CHECK(plain.parameters[2].group == "common");
  const WrittenPipeline grouped = parse_pipeline(head + three + "[parameters.w]\ntype = \"int\"\ngroup = \"common\"\n", "p.toml", diagnostics);
  CHECK(grouped.parameters[2].group == "more");
  CHECK_FALSE(diagnostics.has_errors());
}
