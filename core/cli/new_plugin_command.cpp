// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "cli/option_parser.hpp"
#include "cli/pipeline_arguments.hpp"
#include "session/exit_code.hpp"

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

bool is_plugin_name(const std::string& name) {
  constexpr const char* allowed = "abcdefghijklmnopqrstuvwxyz0123456789_";
  return !name.empty() && name.size() <= 64 && name.front() >= 'a' && name.front() <= 'z' && name.find_first_not_of(allowed) == std::string::npos;
}

// Names that no function or module of the user's can have.
bool is_word_of_python(const std::string& name) {
  constexpr const char* words[] = {"and", "as",     "assert", "async",  "await",    "break",  "class",  "continue", "def",
                                   "del", "elif",   "else",   "from",   "except",   "for",    "global", "if",       "finally",
                                   "in",  "import", "is",     "lambda", "nonlocal", "not",    "or",     "pass",     "raise",
                                   "try", "return", "while",  "with",   "yield",    "sluice", "test"};
  return std::find(std::begin(words), std::end(words), name) != std::end(words);
}

// Names that no namespace, or no target of CMake, can have; the namespace of the skeleton is the plugin's name.
bool is_word_of_cpp_or_cmake(const std::string& name) {
  constexpr const char* words[] = {"alignas",       "alignof",     "and",       "and_eq",    "asm",       "auto",
                                   "bitand",        "bitor",       "bool",      "break",     "case",      "catch",
                                   "char",          "class",       "co_await",  "co_return", "co_yield",  "compl",
                                   "concept",       "const",       "consteval", "constexpr", "constinit", "const_cast",
                                   "continue",      "decltype",    "default",   "delete",    "do",        "double",
                                   "dynamic_cast",  "else",        "enum",      "explicit",  "export",    "extern",
                                   "false",         "float",       "for",       "friend",    "goto",      "if",
                                   "inline",        "int",         "long",      "mutable",   "namespace", "new",
                                   "noexcept",      "not",         "not_eq",    "nullptr",   "operator",  "or",
                                   "or_eq",         "private",     "protected", "public",    "register",  "reinterpret_cast",
                                   "requires",      "return",      "short",     "signed",    "sizeof",    "static",
                                   "static_assert", "static_cast", "struct",    "switch",    "template",  "this",
                                   "thread_local",  "throw",       "true",      "try",       "typedef",   "typeid",
                                   "typename",      "union",       "unsigned",  "using",     "virtual",   "void",
                                   "volatile",      "wchar_t",     "while",     "xor",       "xor_eq",    "main",
                                   "std",           "sluice",      "linux",     "unix",      "all",       "clean",
                                   "depend",        "edit_cache",  "help",      "install",   "package",   "preinstall",
                                   "rebuild_cache", "test"};
  return std::find(std::begin(words), std::end(words), name) != std::end(words);
}

// my_plugin -> MyPlugin
std::string class_name(const std::string& name) {
  std::string result;
  bool upper = true;
  for (const char c : name) {
    if (c != '_') result += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = c == '_';
  }
  return result;
}

std::string substituted(std::string text, const std::string& name) {
  const std::pair<std::string, std::string> placeholders[] = {{"@NAME@", name}, {"@CLASS@", class_name(name)}};
  for (const auto& [placeholder, value] : placeholders)
    for (std::size_t at = 0; (at = text.find(placeholder, at)) != std::string::npos; at += value.size()) text.replace(at, placeholder.size(), value);
  return text;
}

// Installed, else in the build tree beside the program.
fs::path template_folder(const std::string& name) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& folder : {program.parent_path() / "share/sluice" / name, program / name})
    if (fs::is_directory(folder, error)) return folder;
  return {};
}

// Copies every file that is not there yet; NAME.in loses its ending and gets the names filled in, and so do the paths.
void copy_template(const fs::path& from, const fs::path& to, const std::string& name) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(from)) {
    if (!entry.is_regular_file()) continue;
    const fs::path relative = substituted(fs::relative(entry.path(), from).string(), name);
    fs::path target = to / relative;
    const bool fill_in = target.extension() == ".in";
    if (fill_in) target.replace_extension();
    if (fs::exists(target)) continue;
    fs::create_directories(target.parent_path());
    std::ifstream in(entry.path(), std::ios::binary);
    std::string content{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (fill_in) content = substituted(std::move(content), name);
    std::ofstream out(target, std::ios::binary);
    out << content;
    out.close();
    if (!in || !out) throw fs::filesystem_error("cannot be copied", target, std::make_error_code(std::errc::io_error));
    fs::permissions(target, entry.status().permissions() | fs::perms::owner_write);
    std::printf("  %s\n", target.c_str());
  }
}

}  // namespace

int new_plugin_command(const Arguments& arguments) {
  CLI::App app("makes the skeleton of a plugin in a new folder", "sluice new-plugin");
  std::string name, into = ".", kind = "map", from;
  bool in_python = false, with_cuda = false;
  app.add_option("name", name, "of the plugin and its folder: lower case letters, digits and '_'")->type_name("NAME");
  app.add_option("--kind", kind, "of the stage (default: map)")->check(CLI::IsMember({"map", "source", "regroup", "sink", "resource"}));
  app.add_flag("--cuda", with_cuda, "of a map with a CUDA implementation");
  app.add_flag("--python", in_python, "of a map in Python, with a pipeline and a test");
  app.add_option("--into", into, "make the folder in this one (default: here)")->type_name("DIR");
  app.add_option("--template", from, "copy this folder instead of the installed skeleton")->type_name("DIR");
  if (const auto ended = parse_options(app, arguments)) return *ended;
  if (in_python && is_word_of_python(name)) return print_error(app, "'" + name + "' is a word of Python", "choose another name"), exit_usage;
  if (!is_plugin_name(name))
    return print_error(app, name.empty() ? "no name is given" : "'" + name + "' can't be a plugin's name",
                       "use lower case letters, digits and '_', beginning with a letter"),
           exit_usage;
  if (!in_python && is_word_of_cpp_or_cmake(name))
    return print_error(app, "'" + name + "' is a word of C++ or CMake", "choose another name"), exit_usage;
  if (load_plugins({}).find(name) != nullptr)  // pipelines could not tell which of the two they name
    return print_error(app, "a stage '" + name + "' is there already",
                       "choose another name ('sluice inspect " + name + "' shows the one that is there)"),
           exit_usage;
  if (with_cuda + in_python + (kind != "map") > 1)
    return print_error(app, "--kind, --cuda and --python exclude each other", "ask for one of them; CUDA and Python are for maps"), exit_usage;
  // Of a stage in C++ the kind's own files, then what all kinds have in common.
  std::vector<fs::path> sources = {from};
  if (from.empty() && in_python) sources = {template_folder("template_python")};
  if (from.empty() && !in_python) sources = {template_folder("template/" + (with_cuda ? "cuda" : kind)), template_folder("template/common")};
  std::error_code error;
  if (!std::all_of(sources.begin(), sources.end(), [&](const fs::path& source) { return fs::is_directory(source, error); }))
    return print_error(app, "the skeleton is not installed",
                       "name its folder with --template (sdk/template/... or sdk/template_python of the sources)"),
           exit_failed;
  const fs::path target = fs::path(into) / name;
  if (fs::exists(target, error)) return print_error(app, "'" + target.string() + "' exists", "choose another name, or remove it"), exit_usage;
  try {
    for (const fs::path& source : sources) copy_template(source, target, name);
  } catch (const fs::filesystem_error& failure) {
    return print_error(app, failure.what(), "is the disk full, and may you write there?"), exit_failed;
  }
  if (in_python) return std::printf("next: python3 %s/test_%s.py, then see %s/README.md\n", target.c_str(), name.c_str(), target.c_str()), exit_ok;
  std::printf("next: cmake -S %s -B %s/build && cmake --build %s/build, then see %s/README.md\n", target.c_str(), target.c_str(), target.c_str(),
              target.c_str());
  return exit_ok;
}

}  // namespace sluice::cli
