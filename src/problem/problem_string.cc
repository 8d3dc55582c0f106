#include "src/problem/problem_string.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <initializer_list>
#include <system_error>

#include "src/base/text.h"
#include "src/problem/arguments.h"
#include "src/problem/padding.h"

namespace dgrad {
namespace {

constexpr const char* kGrammar =
    "the form is n#_h#w#c#_k#x#_oc#_s#x#_p#,#,#,#_d#x#_g#_nhwc_f32, where n, s, p (or psame, "
    "pvalid), d, g, the layout and the type may be left out";

constexpr std::array kDTypes = {DType::kF16, DType::kBF16, DType::kF32, DType::kF64, DType::kI32};
constexpr std::array kLayouts = {Layout::kNhwc, Layout::kNchw};

constexpr const char* Name(Layout layout) { return layout == Layout::kNhwc ? "nhwc" : "nchw"; }

// The text fit for a message: short and printable.
std::string Quote(std::string_view text) {
  constexpr size_t kLongest = 80;
  std::string quoted = "'";
  for (const char c : text.substr(0, kLongest)) quoted += c >= ' ' && c <= '~' ? c : '?';
  if (text.size() > kLongest) quoted += "...";
  return quoted + "'";
}

// Reads the string from left to right; the first failure stays.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  const Status& status() const { return status_; }

  // Reads a part whose words are followed by a number each: {"h", "w", "c"} reads h56w56c64. When
  // the part is not there nothing happens and false returns; an error if it is `required`.
  bool Numbers(std::initializer_list<const char*> words, int64_t* values, bool required) {
    if (!status_.ok()) return false;
    const std::string_view first = *words.begin();
    const std::string_view rest = text_.substr(at_);
    if (!rest.starts_with(first) || rest.size() == first.size() || !IsDigit(rest[first.size()])) {
      if (required) {
        Fail(Concat("expected a part '", first, "' with a number, found ", Quote(Part())));
      }
      return false;
    }
    for (const char* word : words) {
      if (!Word(word) || !Number(values++)) return false;
    }
    return EndOfPart();
  }

  // Reads a part that is exactly `word`, if it is there.
  bool Exactly(std::string_view word) {
    if (!status_.ok() || Part() != word) return false;
    at_ += word.size();
    return EndOfPart();
  }

  // Anything left is a part that is unknown, repeated or out of order.
  void End() {
    if (status_.ok() && !done_) {
      Fail(Concat("the part ", Quote(Part()), " is unknown, repeated or out of order"));
    }
  }

  void Fail(const std::string& what) {
    if (status_.ok()) {
      status_ = InvalidArgument(
          Concat("problem string ", Quote(text_), ", position ", at_, ": ", what, "; ", kGrammar));
    }
  }

 private:
  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }

  std::string_view Part() const {
    const std::string_view rest = text_.substr(at_);
    return rest.substr(0, rest.find('_'));
  }

  bool Word(std::string_view word) {
    if (text_.substr(at_).starts_with(word)) {
      at_ += word.size();
      return true;
    }
    Fail(Concat("expected '", word, "', found ", Quote(Part())));
    return false;
  }

  bool Number(int64_t* value) {
    const char* begin = text_.data() + at_;
    const char* end = text_.data() + text_.size();
    if (begin == end || !IsDigit(*begin)) {  // from_chars would take a minus sign
      Fail(Concat("expected a number, found ", Quote(Part())));
      return false;
    }
    const auto [stop, error] = std::from_chars(begin, end, *value);
    if (error != std::errc()) {
      Fail(Concat("the number in ", Quote(Part()), " is above 2^63 - 1"));
      return false;
    }
    at_ += static_cast<size_t>(stop - begin);
    return true;
  }

  // After a part comes '_' and another one, or the end.
  bool EndOfPart() {
    if (at_ == text_.size()) {
      done_ = true;
      return true;
    }
    return Word("_");
  }

  std::string_view text_;
  size_t at_ = 0;
  bool done_ = false;  // the text ended with a whole part
  Status status_;
};

// What a problem string says, in its words.
struct Words {
  int64_t n[1] = {1};
  int64_t hwc[3] = {};
  int64_t k[2] = {};
  int64_t oc[1] = {};
  int64_t s[2] = {1, 1};
  int64_t p[4] = {};
  int64_t d[2] = {1, 1};
  int64_t g[1] = {1};
  Padding padding = Padding::kExplicit;
  Layout layout = Layout::kNhwc;
  DType dtype = DType::kF32;
};

Status Read(std::string_view text, Words* words) {
  Reader reader(text);
  reader.Numbers({"n"}, words->n, false);
  reader.Numbers({"h", "w", "c"}, words->hwc, true);
  reader.Numbers({"k", "x"}, words->k, true);
  reader.Numbers({"oc"}, words->oc, true);
  reader.Numbers({"s", "x"}, words->s, false);
  if (reader.Exactly("psame")) {
    words->padding = Padding::kSame;
  } else if (reader.Exactly("pvalid")) {
    words->padding = Padding::kValid;
  } else {
    reader.Numbers({"p", ",", ",", ","}, words->p, false);
  }
  reader.Numbers({"d", "x"}, words->d, false);
  reader.Numbers({"g"}, words->g, false);
  for (const Layout layout : kLayouts) {
    if (reader.Exactly(Name(layout))) {
      words->layout = layout;
      break;
    }
  }
  for (const DType dtype : kDTypes) {
    if (reader.Exactly(Name(dtype))) {
      words->dtype = dtype;
      break;
    }
  }
  reader.End();
  return reader.status();
}

// Four sizes in the order of the layout.
std::array<int64_t, 4> InOrder(Layout layout, int64_t batch, int64_t height, int64_t width,
                               int64_t channels) {
  if (layout == Layout::kNhwc) return {batch, height, width, channels};
  return {batch, channels, height, width};
}

// True when the axis' out follows from its pads as numbers. Not so for SAME with a filter without
// taps, where SAME ignores the filter.
bool FollowsFromPads(const Axis& axis) {
  Axis again = axis;
  return ResolvePadding(Padding::kExplicit, "", &again).ok() && again.out == axis.out;
}

}  // namespace

Status ParseProblem(std::string_view text, Problem* problem) {
  Words words;
  DGRAD_RETURN_IF_ERROR(Read(text, &words));
  const int64_t channels = words.hwc[2];
  const int64_t groups = words.g[0];
  if (groups == 0 || channels % groups != 0) {
    return InvalidArgument(Concat("problem string ", Quote(text), ": c", channels,
                                  " must be a multiple of g", groups, ", which is at least 1"));
  }
  if (channels == 0 && groups != 1) {
    return InvalidArgument(
        Concat("problem string ", Quote(text), ": c0 goes with g1 alone, got g", groups));
  }
  const auto input_sizes = InOrder(words.layout, words.n[0], words.hwc[0], words.hwc[1], channels);
  const std::array filter_shape = {words.k[0], words.k[1], channels / groups, words.oc[0]};
  const auto strides = InOrder(words.layout, 1, words.s[0], words.s[1], 1);
  const auto dilations = InOrder(words.layout, 1, words.d[0], words.d[1], 1);
  const auto before = InOrder(words.layout, 0, words.p[0], words.p[2], 0);
  const auto after = InOrder(words.layout, 0, words.p[1], words.p[3], 0);
  std::array<int64_t, 8> paddings;
  for (size_t i = 0; i < 4; ++i) {
    paddings[2 * i] = before[i];
    paddings[2 * i + 1] = after[i];
  }

  Arguments arguments;
  arguments.input_sizes = input_sizes;
  arguments.filter_shape = filter_shape;
  arguments.strides = strides;
  arguments.dilations = dilations;
  if (words.padding == Padding::kExplicit) arguments.explicit_paddings = paddings;
  arguments.padding = words.padding;
  arguments.layout = words.layout;
  arguments.dtype = words.dtype;
  const Status status = MakeProblem(arguments, problem);
  if (status.ok()) return status;
  return {status.code(), Concat("problem string ", Quote(text), ": ", status.message())};
}

std::string ToString(const Problem& problem) {
  const Axis& rows = problem.rows;
  const Axis& columns = problem.columns;
  std::string text;
  if (problem.batch != 1) text = Concat("n", problem.batch, "_");
  text += Concat("h", rows.in, "w", columns.in, "c", problem.in_channels, "_k", rows.taps, "x",
                 columns.taps, "_oc", problem.out_channels);
  if (rows.stride != 1 || columns.stride != 1) {
    text += Concat("_s", rows.stride, "x", columns.stride);
  }
  if (!FollowsFromPads(rows) || !FollowsFromPads(columns)) {
    text += "_psame";
  } else if (rows.pad_before != 0 || rows.pad_after != 0 || columns.pad_before != 0 ||
             columns.pad_after != 0) {
    text += Concat("_p", rows.pad_before, ",", rows.pad_after, ",", columns.pad_before, ",",
                   columns.pad_after);
  }
  if (rows.dilation != 1 || columns.dilation != 1) {
    text += Concat("_d", rows.dilation, "x", columns.dilation);
  }
  if (problem.groups != 1) text += Concat("_g", problem.groups);
  if (problem.layout != Layout::kNhwc) text += Concat("_", Name(problem.layout));
  if (problem.dtype != DType::kF32) text += Concat("_", Name(problem.dtype));
  return text;
}

}  // namespace dgrad
