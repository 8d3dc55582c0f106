// Interpolation points of the short convolutions, and their matrices, computed at compile time.
//
// m outputs of an r-tap correlation, y[k] = sum over i of g[i] * x[k + i], take n = m + r - 1
// products: y = A ((G g) * (B x)), where B holds the Lagrange polynomials of the points, G
// evaluates the filter at them, divided by the polynomials' values there, and A evaluates powers;
// the last point is infinity. All points are short binary fractions, so that B and A are exact in
// float32. B and G depend on the points alone, not on m.
//
// A family of points serves tiles of fewer outputs too: such a tile leaves points out, and its B
// makes up for G, which was divided for the whole family. So tiles of mixed sizes share one
// transformed filter.
//
// {0, 1, -1} is the textbook choice; 11/16 and 13/8 were found by search: with partial sums of 128
// terms the relative L2 error of 4 outputs of 3 taps in both directions is 0.8 times that of a
// sequential float32 sum over 512 channels, and 1.7 times over 64 (0, 1, -1, 2, -2: 3.5 times).
#ifndef DGRAD_KERNELS_WINOGRAD_POINTS_H_
#define DGRAD_KERNELS_WINOGRAD_POINTS_H_

namespace dgrad::kernels {

inline constexpr int kMaxPoints = 6;
inline constexpr int kMaxTaps = 5;
inline constexpr int kMaxOutputs = 4;

struct PointFamily {
  int count;                  // infinity included
  double values[kMaxPoints];  // of the finite ones; pairs of opposite sign are neighbours
};

inline constexpr PointFamily kOnePoint = {1, {}};  // infinity alone: plain multiplication
inline constexpr PointFamily kFourPoints = {4, {0, 1, -1}};
inline constexpr PointFamily kSixPoints = {6, {0, 11.0 / 16, -11.0 / 16, 13.0 / 8, -13.0 / 8}};

// Points of a family, those that a tile uses, by rising index; infinity is always among them.
struct PointSet {
  const PointFamily& family;
  int count;
  int index[kMaxPoints];

  constexpr unsigned Mask() const {
    unsigned mask = 0;
    for (int i = 0; i < count; ++i) mask |= 1u << index[i];
    return mask;
  }
};

inline constexpr PointSet kPointSets[] = {
    {kOnePoint, 1, {0}},
    {kFourPoints, 3, {1, 2, 3}},
    {kFourPoints, 4, {0, 1, 2, 3}},
    {kSixPoints, 4, {0, 1, 2, 5}},
    {kSixPoints, 5, {1, 2, 3, 4, 5}},
    {kSixPoints, 6, {0, 1, 2, 3, 4, 5}},
};
inline constexpr int kPointSetCount = 6;

// The family for r taps; the most points give the most outputs for a multiplication within the
// error that is allowed.
constexpr const PointFamily& FamilyFor(int taps) {
  return taps == 1 ? kOnePoint : taps == 2 ? kFourPoints : kSixPoints;
}

// Index into kPointSets of the set of `count` points of a family, -1 if there is none.
constexpr int FindPointSet(const PointFamily& family, int count) {
  for (int i = 0; i < kPointSetCount; ++i) {
    if (&kPointSets[i].family == &family && kPointSets[i].count == count) return i;
  }
  return -1;
}

struct Matrix {
  int rows = 0;
  int columns = 0;
  double at[kMaxPoints][kMaxPoints] = {};
};

// The matrices. Below, `finite` counts the points of a set without infinity.
constexpr Matrix InputMatrix(const PointSet& set) {
  Matrix b;
  b.rows = b.columns = set.count;
  const int finite = set.count - 1;
  for (int i = 0; i < set.count; ++i) {
    // The product of (x - point) over the other finite points of the set, by rising powers.
    double polynomial[kMaxPoints] = {1};
    int degree = 0;
    for (int k = 0; k < finite; ++k) {
      if (k == i) continue;
      const double point = set.family.values[set.index[k]];
      ++degree;
      for (int power = degree; power >= 0; --power) {
        polynomial[power] = (power > 0 ? polynomial[power - 1] : 0) -
                            point * (power < degree ? polynomial[power] : 0);
      }
    }
    double scale = 1;
    if (i < finite) {
      for (int k = 0; k < set.family.count - 1; ++k) {
        if ((set.Mask() >> k & 1) == 0) {
          scale *= set.family.values[set.index[i]] - set.family.values[k];
        }
      }
    }
    for (int power = 0; power <= degree; ++power) b.at[i][power] = scale * polynomial[power];
  }
  return b;
}

constexpr Matrix FilterMatrix(const PointFamily& family, int taps) {
  Matrix g;
  g.rows = family.count;
  g.columns = taps;
  for (int i = 0; i + 1 < family.count; ++i) {
    double divisor = 1;
    for (int k = 0; k + 1 < family.count; ++k) {
      if (k != i) divisor *= family.values[i] - family.values[k];
    }
    double power = 1;
    for (int j = 0; j < taps; ++j, power *= family.values[i]) g.at[i][j] = power / divisor;
  }
  g.at[family.count - 1][taps - 1] = 1;
  return g;
}

constexpr Matrix OutputMatrix(const PointSet& set, int outputs) {
  Matrix a;
  a.rows = outputs;
  a.columns = set.count;
  for (int i = 0; i + 1 < set.count; ++i) {
    double power = 1;
    for (int k = 0; k < outputs; ++k, power *= set.family.values[set.index[i]]) a.at[k][i] = power;
  }
  a.at[outputs - 1][set.count - 1] = 1;
  return a;
}

}  // namespace dgrad::kernels

#endif  // DGRAD_KERNELS_WINOGRAD_POINTS_H_
