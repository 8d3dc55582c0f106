// Times the register tiles on data that stays in the first cache.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "src/base/isa.h"
#include "src/kernels/gemm/gemm.h"
#include "src/kernels/isas.h"

namespace {

using dgrad::Isa;
namespace kernels = dgrad::kernels;

constexpr int kTerms = 256;

template <typename T>
void RunTile(benchmark::State& state, Isa isa, int rows, int vectors) {
  const auto& family = kernels::Gemm<T>(isa);
  const int columns = vectors * family.lanes;
  std::vector<T> a(static_cast<size_t>(rows * kTerms), T{1});
  std::vector<T> b(static_cast<size_t>(columns * kTerms), T{1});
  std::vector<T> out(static_cast<size_t>(rows * columns));
  std::vector<int64_t> a_offsets, out_offsets;
  for (int r = 0; r < rows; ++r) {
    a_offsets.push_back(r * kTerms);
    out_offsets.push_back(r * columns);
  }
  const kernels::GemmStep step = {0, 0, kTerms, 1};
  kernels::GemmCall<T> call;
  call.a = a.data();
  call.a_offsets = a_offsets.data();
  call.b = b.data();
  call.out = out.data();
  call.out_offsets = out_offsets.data();
  call.steps = &step;
  call.step_count = 1;
  call.columns = columns;
  call.accumulate = false;
  for (auto _ : state) {
    family.kernels[vectors][rows](call);
    benchmark::ClobberMemory();
  }
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * rows * columns * kTerms,
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

template <typename T>
void RegisterTiles(const char* type, Isa isa) {
  const auto& family = kernels::Gemm<T>(isa);
  for (int vectors = 1; vectors <= kernels::kGemmMaxVectors; ++vectors) {
    for (int rows = 1; rows <= family.max_rows[vectors]; ++rows) {
      const std::string name = std::string("gemm_") + type + "/" + dgrad::Name(isa) + "/" +
                               std::to_string(rows) + "x" + std::to_string(vectors);
      benchmark::RegisterBenchmark(
          name.c_str(), [=](benchmark::State& state) { RunTile<T>(state, isa, rows, vectors); });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (const Isa isa : dgrad::CompiledIsas()) {
    Isa usable = Isa::kAuto;
    if (!dgrad::ResolveIsa(isa, &usable).ok() || usable != isa) continue;
    RegisterTiles<float>("f32", isa);
    RegisterTiles<double>("f64", isa);
    RegisterTiles<int32_t>("i32", isa);
  }
  benchmark::RunSpecifiedBenchmarks();
}
