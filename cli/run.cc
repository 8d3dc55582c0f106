// dgrad run: tensors from files, the result into a file.
#include <array>
#include <chrono>
#include <memory>
#include <optional>

#include "command.h"
#include "flags.h"
#include "interrupt.h"
#include "npy.h"
#include "npz.h"
#include "output_file.h"
#include "progress.h"
#include "stream.h"
#include "text.h"

namespace dgrad::cli {
namespace {

constexpr const char* kFooter =
    "FILE is a .npy file, FILE:ARRAY an array of a .npz file (FILE alone: its only array, or the "
    "one "
    "called filter or out_backprop), - standard input. Strides and dilations are 4 integers in the "
    "order of --data-format, or 2 (rows, columns), or 1; explicit paddings are 8 in that order, "
    "before "
    "and after each dimension, or 4: top, bottom, left, right. bfloat16 is read from elements of "
    "type "
    "'<V2' or '|V2', which is how NumPy stores ml_dtypes.bfloat16, with --dtype bfloat16, and "
    "written "
    "as '<V2'.\n"
    "\n"
    "Examples:\n"
    "  dgrad run --filter f.npy --out-backprop g.npy --input-sizes 8,56,56,64 --strides 2 "
    "--padding "
    "SAME -o result.npy\n"
    "  dgrad run --filter layer.npz:weights --out-backprop layer.npz:grad --input-sizes 56,56 -o "
    "result.npy --force\n"
    "  dgrad run --filter f.npy --out-backprop g.npy --problem "
    "n8_h56w56c64_k3x3_oc128_s2x2_p1,1,1,1 -o result.npy";

struct Flags {
  std::string filter, out_backprop, output, problem, dtype;
  std::string padding = "VALID", data_format = "NHWC";
  std::vector<int64_t> input_sizes, strides, dilations, explicit_paddings;
  bool force = false;
  bool quiet = false;
  PlanFlags plan;
};

std::optional<Dtype> DtypeOf(const std::string& name) {
  for (const Dtype dtype : kDtypes) {
    if (name == NameOf(dtype)) return dtype;
  }
  return std::nullopt;
}

// 1, 2 or 4 numbers as 4 in the order of the format. Other counts stay: the library says what is
// wrong with them.
std::vector<int64_t> PerDimension(const std::vector<int64_t>& given, bool nhwc) {
  if (given.empty()) return {1, 1, 1, 1};
  if (given.size() > 2) return given;
  const int64_t h = given[0];
  const int64_t w = given.back();
  return nhwc ? std::vector<int64_t>{1, h, w, 1} : std::vector<int64_t>{1, 1, h, w};
}

std::vector<int64_t> Paddings(const std::vector<int64_t>& given, bool nhwc) {
  if (given.size() != 4) return given;
  std::vector<int64_t> paddings(8, 0);
  std::copy(given.begin(), given.end(), paddings.begin() + (nhwc ? 2 : 4));
  return paddings;
}

void CheckLength(const char* option, const std::vector<int64_t>& values, size_t most) {
  if (values.size() > most) {
    throw UsageError(
        Format("%s has %zu integers; at most %zu are legal", option, values.size(), most));
  }
}

Sizes ShapeOf(const char* argument, const NpyReader& array) {
  if (array.shape().size() != 4) {
    throw Failure(std::string(argument) + " has the shape " + Shape(array.shape()) + " in " +
                  array.name() + "; 4 dimensions are needed");
  }
  return Sizes(array.shape());
}

Problem MakeProblem(const Flags& flags, const NpyReader& filter, const NpyReader& out_backprop) {
  const bool nhwc = flags.data_format == "NHWC";
  Arguments arguments;
  arguments.filter_shape = ShapeOf("filter", filter);
  arguments.out_backprop_shape = ShapeOf("out_backprop", out_backprop);
  arguments.input_sizes = Sizes(flags.input_sizes);
  arguments.strides = Sizes(PerDimension(flags.strides, nhwc));
  arguments.dilations = Sizes(PerDimension(flags.dilations, nhwc));
  arguments.padding = flags.padding == "SAME"       ? Padding::kSame
                      : flags.padding == "EXPLICIT" ? Padding::kExplicit
                                                    : Padding::kValid;
  arguments.explicit_paddings = Sizes(Paddings(flags.explicit_paddings, nhwc));
  arguments.data_format = nhwc ? DataFormat::kNhwc : DataFormat::kNchw;
  arguments.dtype = filter.dtype();
  return Problem(arguments);
}

void CheckSame(const char* argument, const NpyReader& array, const std::array<int64_t, 4>& shape,
               Dtype dtype) {
  const std::vector<int64_t> wanted(shape.begin(), shape.end());
  if (array.shape() != wanted || array.dtype() != dtype) {
    throw Failure(std::string(argument) + " is " + NameOf(array.dtype()) + " of shape " +
                  Shape(array.shape()) + "; the problem needs " + NameOf(dtype) + " of shape " +
                  Shape(wanted));
  }
}

// The problem of the options and the files' headers, checked against both.
Problem TakeProblem(const Flags& flags, std::optional<Problem> given, const NpyReader& filter,
                    const NpyReader& out_backprop) {
  if (filter.dtype() != out_backprop.dtype()) {
    throw Failure("filter has elements of type " + NameOf(filter.dtype()) +
                  ", out_backprop of type " + NameOf(out_backprop.dtype()) +
                  "; they must be the same");
  }
  if (!given) return MakeProblem(flags, filter, out_backprop);
  CheckSame("filter", filter, given->filter_shape(), given->dtype());
  CheckSame("out_backprop", out_backprop, given->out_backprop_shape(), given->dtype());
  return *std::move(given);
}

double Compute(const Plan& plan, const Buffer& filter, const Buffer& out_backprop, Buffer* result,
               Progress* progress) {
  RunOptions options;
  options.poll = [progress] {
    progress->Tell("computing");
    return WasInterrupted();
  };
  const auto start = std::chrono::steady_clock::now();
  plan.run(filter.bytes(), out_backprop.bytes(), result->bytes(), options);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void WriteResult(OutputFile* file, const std::string& header, const Buffer& result,
                 Progress* progress) {
  constexpr size_t kPiece = 16u << 20;
  if (file == nullptr) {
    Out().Write(header);
  } else {
    file->Write(header);
  }
  for (uint64_t at = 0; at < result.size(); at += kPiece) {
    StopIfInterrupted();
    const auto piece = result.bytes().subspan(at, std::min<uint64_t>(kPiece, result.size() - at));
    if (file == nullptr) {
      Out().WriteBytes(piece);
    } else {
      file->Write(piece);
    }
    progress->Tell("writing");
  }
  if (file != nullptr) file->Commit();
}

int Run(const Flags& flags) {
  CheckLength("--input-sizes", flags.input_sizes, 4);
  CheckLength("--strides", flags.strides, 4);
  CheckLength("--dilations", flags.dilations, 4);
  CheckLength("--explicit-paddings", flags.explicit_paddings, 8);
  std::optional<Problem> given;
  std::optional<Dtype> dtype = DtypeOf(flags.dtype);
  if (!flags.problem.empty()) {
    try {
      given.emplace(flags.problem);
    } catch (const InvalidArgumentError& error) {
      throw UsageError(error.what());
    }
    if (dtype && *dtype != given->dtype()) {
      throw UsageError("--dtype is " + flags.dtype + ", the problem's type " +
                       NameOf(given->dtype()));
    }
    if (!dtype) dtype = given->dtype();
  } else if (flags.input_sizes.empty()) {
    throw UsageError("--input-sizes or --problem is needed");
  }
  const bool to_stdout = flags.output == "-";
  if (to_stdout && Out().is_terminal()) throw UsageError("no array is written to a terminal");

  // Whatever can be wrong is found before the long parts.
  std::optional<OutputFile> file;
  if (!to_stdout) file.emplace(flags.output, flags.force);
  Progress progress;
  NpyReader filter(OpenTensor(flags.filter, "filter"), dtype);
  NpyReader out_backprop(OpenTensor(flags.out_backprop, "out_backprop"), dtype);
  const Problem problem = TakeProblem(flags, std::move(given), filter, out_backprop);
  const uint64_t result_bytes = problem.info().in_backprop_bytes;
  CheckMemory(static_cast<double>(result_bytes) + static_cast<double>(filter.bytes()) +
                  static_cast<double>(out_backprop.bytes()),
              "the problem " + problem.to_string());
  const Plan plan(problem, flags.plan.Options());

  const Buffer filter_values = filter.Read(progress);
  const Buffer out_backprop_values = out_backprop.Read(progress);
  Buffer result(result_bytes);
  const double seconds = Compute(plan, filter_values, out_backprop_values, &result, &progress);
  const auto shape = problem.in_backprop_shape();
  const std::vector<int64_t> sizes(shape.begin(), shape.end());
  WriteResult(file ? &*file : nullptr, NpyHeader(problem.dtype(), sizes), result, &progress);
  progress.Clear();
  if (!to_stdout && !flags.quiet) {
    Out().Line(flags.output + ": " + NameOf(problem.dtype()) + " " + Shape(sizes) + ", " +
               plan.algorithm() + " on " + NameOf(plan.isa()) + " in " + Duration(seconds));
  }
  return kOk;
}

}  // namespace

void AddRun(CLI::App& app, Action* action) {
  CLI::App* command = app.add_subcommand("run", "Compute in_backprop from files");
  const auto flags = std::make_shared<Flags>();
  command->footer(kFooter);
  command
      ->add_option("--filter", flags->filter, "[rows, columns, in channels / groups, out channels]")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--out-backprop", flags->out_backprop,
                   "The incoming gradient, [batch, rows, columns, out channels] in NHWC")
      ->required()
      ->type_name("FILE");
  command->add_option("-o,--output", flags->output, "The result, a .npy file; - is standard output")
      ->required()
      ->type_name("FILE");
  CLI::Option* problem = command
                             ->add_option("--problem", flags->problem,
                                          "A problem string instead of the next six options")
                             ->type_name("STRING");
  const CLI::Option* alternatives[] = {
      AddIntegers(*command, "--input-sizes", &flags->input_sizes,
                  "Shape of the result: 4 integers, or height and width"),
      AddIntegers(*command, "--strides", &flags->strides, "Strides (default: 1)"),
      AddIntegers(*command, "--dilations", &flags->dilations, "Dilations, 1 is dense (default: 1)"),
      AddChoice(*command, "--padding", &flags->padding, {"VALID", "SAME", "EXPLICIT"},
                "Padding (default: VALID)"),
      AddIntegers(*command, "--explicit-paddings", &flags->explicit_paddings,
                  "With --padding EXPLICIT: 8 integers, or top, bottom, left, right"),
      AddChoice(*command, "--data-format", &flags->data_format, {"NHWC", "NCHW"},
                "Layout of out_backprop and of the result (default: NHWC)"),
  };
  for (const CLI::Option* alternative : alternatives) {
    problem->excludes(const_cast<CLI::Option*>(alternative));
  }
  std::vector<std::string> dtypes;
  for (const Dtype dtype : kDtypes) dtypes.push_back(NameOf(dtype));
  AddChoice(*command, "--dtype", &flags->dtype, dtypes, "Type that the files must have");
  flags->plan.Add(*command);
  command->add_flag("--force", flags->force, "Overwrite the output file");
  command->add_flag("--quiet", flags->quiet, "Print nothing when all is well");
  command->callback([=] { *action = [flags] { return Run(*flags); }; });
}

}  // namespace dgrad::cli
