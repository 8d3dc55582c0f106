// The transforms, compiled once per target and type by winograd_<type>.cc.
#if defined(DGRAD_KERNELS_WINOGRAD_WINOGRAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DGRAD_KERNELS_WINOGRAD_WINOGRAD_INL_H_
#undef DGRAD_KERNELS_WINOGRAD_WINOGRAD_INL_H_
#else
#define DGRAD_KERNELS_WINOGRAD_WINOGRAD_INL_H_
#endif

#include "hwy/highway.h"
#include "src/kernels/tile-inl.h"
#include "src/kernels/winograd/winograd.h"

HWY_BEFORE_NAMESPACE();
namespace dgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows i and i + 1 have the same magnitudes: with points of opposite sign one is the sum of an even
// and an odd part, the other their difference.
constexpr bool RowsPair(const Matrix& m, int i) {
  if (i < 0 || i + 1 >= m.rows) return false;
  bool differ = false;
  for (int j = 0; j < m.columns; ++j) {
    if (m.at[i][j] != m.at[i + 1][j] && m.at[i][j] != -m.at[i + 1][j]) return false;
    differ = differ || m.at[i][j] != m.at[i + 1][j];
  }
  return differ;
}
constexpr bool ColumnsPair(const Matrix& m, int j) {
  if (j < 0 || j + 1 >= m.columns) return false;
  bool differ = false;
  for (int i = 0; i < m.rows; ++i) {
    if (m.at[i][j] != m.at[i][j + 1] && m.at[i][j] != -m.at[i][j + 1]) return false;
    differ = differ || m.at[i][j] != m.at[i][j + 1];
  }
  return differ;
}

// sum + factor * x, where the sum may still be empty.
template <class D, class V>
HWY_INLINE void AddTerm(D d, double factor, V x, V& sum, bool& empty) {
  if (empty) {
    sum = factor == 1 ? x : hn::Mul(hn::Set(d, static_cast<hn::TFromD<D>>(factor)), x);
  } else if (factor == 1) {
    sum = hn::Add(sum, x);
  } else if (factor == -1) {
    sum = hn::Sub(sum, x);
  } else {
    sum = hn::MulAdd(hn::Set(d, static_cast<hn::TFromD<D>>(factor)), x, sum);
  }
  empty = false;
}

// Part of row i: columns where it equals row i + 1 (`equal`), or where they are opposite.
template <class D, class V, class M>
HWY_INLINE V RowPart(D d, const V* x, int i, bool equal) {
  V sum = hn::Zero(d);
  bool empty = true;
  // From the last column: its factor is often 1, and a sum that begins with it saves a product.
#pragma GCC unroll 8
  for (int j = M::kMatrix.columns - 1; j >= 0; --j) {
    const double factor = M::kMatrix.at[i][j];
    if (factor != 0 && (factor == M::kMatrix.at[i + 1][j]) == equal) {
      AddTerm(d, factor, x[j], sum, empty);
    }
  }
  return sum;
}

// y = M x for matrices whose rows come in pairs: input and filter.
template <class D, class V, class M>
HWY_INLINE void MultiplyByRows(D d, const V* x, V* y) {
#pragma GCC unroll 8
  for (int i = 0; i < M::kMatrix.rows; ++i) {
    if (RowsPair(M::kMatrix, i)) {
      const V even = RowPart<D, V, M>(d, x, i, true);
      const V odd = RowPart<D, V, M>(d, x, i, false);
      y[i] = hn::Add(even, odd);
      y[i + 1] = hn::Sub(even, odd);
    } else if (!RowsPair(M::kMatrix, i - 1)) {
      V sum = hn::Zero(d);
      bool empty = true;
#pragma GCC unroll 8
      for (int j = M::kMatrix.columns - 1; j >= 0; --j) {
        if (M::kMatrix.at[i][j] != 0) AddTerm(d, M::kMatrix.at[i][j], x[j], sum, empty);
      }
      y[i] = sum;
    }
  }
}

// y = M x for matrices whose columns come in pairs: output. Overwrites x.
template <class D, class V, class M>
HWY_INLINE void MultiplyByColumns(D d, V* x, V* y) {
#pragma GCC unroll 8
  for (int j = 0; j < M::kMatrix.columns; ++j) {
    if (ColumnsPair(M::kMatrix, j)) {
      const V sum = hn::Add(x[j], x[j + 1]);
      x[j + 1] = hn::Sub(x[j], x[j + 1]);
      x[j] = sum;
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < M::kMatrix.rows; ++i) {
    V sum = hn::Zero(d);
    bool empty = true;
#pragma GCC unroll 8
    for (int j = M::kMatrix.columns - 1; j >= 0; --j) {
      const double factor = M::kMatrix.at[i][j];
      if (factor == 0) continue;
      if (ColumnsPair(M::kMatrix, j)) {
        if (factor == M::kMatrix.at[i][j + 1]) AddTerm(d, factor, x[j], sum, empty);
      } else if (ColumnsPair(M::kMatrix, j - 1)) {
        if (factor != M::kMatrix.at[i][j - 1]) AddTerm(d, -factor, x[j], sum, empty);
      } else {
        AddTerm(d, factor, x[j], sum, empty);
      }
    }
    y[i] = sum;
  }
}

// One vector of every operand. `rest_from` and `rest_to`: channels left, when they are fewer than
// lanes and the side is exact; else 0.
template <class D, class M, bool kOutput, class V, typename T>
HWY_INLINE void TransformVector(D d, const T* const* from, T* const* to, int64_t c,
                                int64_t rest_from, int64_t rest_to, bool stream, V& check) {
  V x[kMaxPoints];
  V y[kMaxPoints];
#pragma GCC unroll 8
  for (int j = 0; j < M::kMatrix.columns; ++j) {
    x[j] = rest_from > 0 ? LoadPartial(d, from[j] + c, rest_from) : hn::LoadU(d, from[j] + c);
  }
  if constexpr (kOutput) {
    MultiplyByColumns<D, V, M>(d, x, y);
  } else {
    MultiplyByRows<D, V, M>(d, x, y);
  }
#pragma GCC unroll 8
  for (int i = 0; i < M::kMatrix.rows; ++i) {
    if (rest_to > 0) {
      StorePartial(d, y[i], to[i] + c, rest_to, false);
    } else if (kOutput && stream) {
      hn::Stream(y[i], d, to[i] + c);
    } else {
      hn::StoreU(y[i], d, to[i] + c);
    }
    // Infinity and NaN make it NaN.
    if constexpr (kOutput) check = hn::MulAdd(y[i], hn::Zero(d), check);
  }
}

template <class D, class M, bool kOutput>
bool TransformLines(const TransformCall<hn::TFromD<D>>& call) {
  using T = hn::TFromD<D>;
  const D d;
  constexpr int64_t kLanes = hn::MaxLanes(D());
  constexpr int kFrom = M::kMatrix.columns;
  constexpr int kTo = M::kMatrix.rows;
  auto check = hn::Zero(d);
  const int64_t whole = call.channels / kLanes * kLanes;
  const int64_t rest = call.channels - whole;
  const int64_t rest_from = call.exact_from ? rest : 0;
  const int64_t rest_to = call.exact_to ? rest : 0;
  const int64_t lines = call.lines;
  const int64_t to_line = call.to_line;
  const bool stream = call.stream;
  // Copies, since for all the compiler knows a store may change the call.
  const T* from[kFrom];
  int64_t from_line[kFrom];
  T* to[kTo];
  for (int j = 0; j < kFrom; ++j) {
    from[j] = call.from[j];
    from_line[j] = call.from_line[j];
  }
  for (int i = 0; i < kTo; ++i) to[i] = call.to[i];
  for (int64_t line = 0; line < lines; ++line) {
    for (int64_t c = 0; c < whole; c += kLanes) {
      TransformVector<D, M, kOutput>(d, from, to, c, 0, 0, stream, check);
    }
    if (rest > 0) {
      // A part of a vector, or a whole one beyond the channels.
      TransformVector<D, M, kOutput>(d, from, to, whole, rest_from, rest_to, false, check);
    }
    for (int j = 0; j < kFrom; ++j) from[j] += from_line[j];
    for (int i = 0; i < kTo; ++i) to[i] += to_line;
  }
  return !kOutput || hn::AllTrue(d, hn::Eq(check, hn::Zero(d)));
}

template <int kSet>
struct InputOf {
  static constexpr Matrix kMatrix = InputMatrix(kPointSets[kSet]);
};
template <int kSet, int kOutputs>
struct OutputOf {
  static constexpr Matrix kMatrix = OutputMatrix(kPointSets[kSet], kOutputs);
};
template <int kTaps>
struct FilterOf {
  static constexpr Matrix kMatrix = FilterMatrix(FamilyFor(kTaps), kTaps);
};

template <class D, int kSet>
constexpr void FillSet(WinogradFamily<hn::TFromD<D>>& family) {
  family.input[kSet] = &TransformLines<D, InputOf<kSet>, false>;
  constexpr int kPoints = kPointSets[kSet].count;
  if constexpr (kPoints == 1) {
    family.output[kSet][1] = &TransformLines<D, OutputOf<kSet, 1>, true>;
  } else {
    // r taps leave count + 1 - r outputs; three to five taps share the six points.
    if constexpr (kPoints >= 3) {
      family.output[kSet][2] = &TransformLines<D, OutputOf<kSet, 2>, true>;
    }
    if constexpr (kPoints >= 4) {
      family.output[kSet][3] = &TransformLines<D, OutputOf<kSet, 3>, true>;
    }
    if constexpr (kPoints >= 6) {
      family.output[kSet][4] = &TransformLines<D, OutputOf<kSet, 4>, true>;
    }
  }
}

template <typename T>
constexpr WinogradFamily<T> MakeWinogradFamily() {
  using D = hn::ScalableTag<T>;
  WinogradFamily<T> family{};
  family.lanes = hn::MaxLanes(D());
  FillSet<D, 0>(family);
  FillSet<D, 1>(family);
  FillSet<D, 2>(family);
  FillSet<D, 3>(family);
  FillSet<D, 4>(family);
  FillSet<D, 5>(family);
  family.filter[1] = &TransformLines<D, FilterOf<1>, false>;
  family.filter[2] = &TransformLines<D, FilterOf<2>, false>;
  family.filter[3] = &TransformLines<D, FilterOf<3>, false>;
  family.filter[4] = &TransformLines<D, FilterOf<4>, false>;
  family.filter[5] = &TransformLines<D, FilterOf<5>, false>;
  return family;
}

}  // namespace dgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DGRAD_KERNELS_WINOGRAD_WINOGRAD_INL_H_
