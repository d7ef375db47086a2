// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A table's text as a file of typed columns: lines become pieces of columns, which are encoded on the run's threads. The user links libzstd.

#include <cstddef>
#include <cstdint>
#include <sluice/arrow/cells.hpp>
#include <sluice/arrow/table_schema.hpp>
#include <sluice/call.hpp>
#include <sluice/saved_state.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::arrow {

// Pieces begin where as much text as this has come, whatever it comes in: the same bytes from every run. Some ten thousand rows.
inline constexpr std::size_t piece_text = std::size_t{1} << 20;

// Form says what the bytes are:
//   Piece                                what encode() makes
//   static begin(schema)                 bytes in front of the first piece
//   static encode(cells)                 a piece, on any thread
//   add(schema, piece, place)            bytes to write now, at this place of the file; in the order of the table
//   end(schema, place)                   bytes behind the last piece
//   save(), restore()                    what it keeps of the pieces
template <class Form>
class TableFile {
 public:
  TableFile(OutputFile file, TableSchema schema) : file_(std::move(file)), schema_(std::move(schema)) {}

  // Before the first line, where the columns are not known from the start.
  void set_schema(TableSchema schema) { schema_ = std::move(schema); }
  // Lines, in pieces of any size.
  void add(std::string_view text) {
    text_ += text;
    const std::size_t begin = ends_.empty() ? 0 : ends_.back();
    for (std::size_t from = std::max(begin + piece_text, searched_ + 1) - 1; from < text_.size();) {
      const std::size_t end = text_.find('\n', from);
      searched_ = text_.size();
      if (end == std::string::npos) break;
      ends_.push_back(end + 1);
      from = end + piece_text;
    }
  }
  // Encodes the finished pieces, when there is one for each thread.
  void write(const Call& call) {
    if (ends_.size() >= static_cast<std::size_t>(call.threads())) encode(call);
  }
  // Writes the rest and closes the file.
  void finish(const Call& call) {
    if (text_.size() > (ends_.empty() ? 0 : ends_.back())) ends_.push_back(text_.size());
    encode(call);
    begin();
    put(form_.end(schema_, written_));
    file_.close();
  }
  // Encodes the finished pieces before.
  void save(const Call& call, StateWriter& to) {
    encode(call);
    to.value(written_);
    form_.save(to);
    to.text(text_);
  }
  // For a file that has what was written before save().
  void restore(StateReader& from) {
    written_ = from.value<std::uint64_t>();
    form_.restore(from);
    text_ = from.text();
  }

 private:
  void encode(const Call& call) {
    if (ends_.empty()) return;
    begin();
    std::vector<typename Form::Piece> encoded(ends_.size());
    call.parallel_for(ends_.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t from = i == 0 ? 0 : ends_[i - 1];
        TableCells cells(schema_);
        cells.add_lines(std::string_view(text_).substr(from, ends_[i] - from));
        encoded[i] = Form::encode(cells);
      }
    });
    for (typename Form::Piece& piece : encoded) put(form_.add(schema_, std::move(piece), written_));
    text_.erase(0, ends_.back());
    ends_.clear();
    searched_ = 0;
  }
  void begin() {
    if (written_ > 0) return;
    put(Form::begin(schema_));
  }
  void put(std::string_view bytes) {
    file_.write(bytes);
    written_ += bytes.size();
  }

  OutputFile file_;
  TableSchema schema_;
  std::string text_;               // that is not in the file
  std::vector<std::size_t> ends_;  // of pieces, in text_
  std::size_t searched_ = 0;       // of text_, for the end of a long line
  std::uint64_t written_ = 0;
  Form form_;
};

}  // namespace sluice::arrow
