// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A command line as people type it for other programs, in the options of a pipeline.

#include <functional>
#include <string>
#include <vector>

#include "config/pipeline.hpp"

namespace sluice {

// Does this option of ours, as "--reads", take a value?
using TakesValue = std::function<bool(const std::string& option)>;

// What the arguments behind a pipeline's name say, every value of its parameters behind an option:
//  - values without an option are those of the pipeline's positionals, in their order: where there are fewer, those that are required come first;
//  what is over belongs to the one that may have several;
//  - "--reads a.fq b.fq" is "--reads a.fq --reads b.fq" where --reads may be repeated;
//  - options of other programs that mean the same here (WrittenPipeline::habits) become those, "-ax map-ont" and "-k15" as getopt(3) takes them
//  apart, and "-x splice" may be a habit of its own; -o is --output, -t is --threads, and a parameter of one letter may be given as -k.
// What is not understood stays as it is, for the parser to complain about.
std::vector<std::string> in_own_words(const std::vector<std::string>& arguments, const WrittenPipeline& pipeline, const TakesValue& takes_value);

// Of a habit's text: is it options, which are put in its place (with a value of their own, or with that of the habit, whose parts between commas are
// for one after the other, an option marked with + taking the part before where it has none); or nothing at all ("nothing: ...", of an option with a
// value "nothing VALUE: ..."); or an answer to read?
enum class HabitKind { replaced, dropped, answered };
HabitKind kind_of_habit(const std::string& text);

}  // namespace sluice
