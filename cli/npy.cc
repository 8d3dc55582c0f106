#include "npy.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string_view>

#include "error.h"
#include "npy_header.h"
#include "text.h"

namespace dgrad::cli {
namespace {

static_assert(std::endian::native == std::endian::little, "bytes are not swapped");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMostHeader = 1 << 16;      // NumPy's own headers have some hundred bytes
constexpr uint64_t kFirstPiece = 64u << 20;  // read into memory that grows with what comes
constexpr size_t kAlignment = 64;            // of the elements, as NumPy writes them

// Fills `to`, or tells how much there was.
size_t ReadUpTo(ByteSource& source, std::span<std::byte> to) {
  size_t size = 0;
  while (size < to.size()) {
    const size_t got = source.Read(to.subspan(size));
    if (got == 0) break;
    size += got;
  }
  return size;
}

void ReadHeaderPart(ByteSource& source, std::span<std::byte> to) {
  if (ReadUpTo(source, to) != to.size()) {
    throw Failure(source.name() + " is cut short: it ends inside its header");
  }
}

std::string ReadHeader(ByteSource& source) {
  unsigned char start[8] = {};
  const auto bytes = std::as_writable_bytes(std::span(start));
  const size_t got = ReadUpTo(source, bytes);
  if (got < kMagic.size() || std::memcmp(start, kMagic.data(), kMagic.size()) != 0) {
    throw Failure(source.name() + " is neither a .npy nor a .npz file");
  }
  if (got < sizeof(start)) {
    throw Failure(source.name() + " is cut short: it ends inside its header");
  }
  const int version = start[6];
  if (version < 1 || version > 3) {
    throw Failure(Format("%s has format version %d.%d; versions 1 to 3 can be read",
                         source.name().c_str(), version, start[7]));
  }
  unsigned char length[4] = {};
  ReadHeaderPart(source, std::as_writable_bytes(std::span(length)).first(version == 1 ? 2 : 4));
  const uint32_t size = length[0] | length[1] << 8 | length[2] << 16 | uint32_t{length[3]} << 24;
  if (size > source.MostLeft()) {
    throw Failure(source.name() + " is cut short: its header should have " + Bytes(size) +
                  ", which is more than is left");
  }
  if (size > kMostHeader) {
    throw Failure(source.name() + " says that its header has " + Bytes(size) + "; at most " +
                  Bytes(kMostHeader) + " can be read");
  }
  std::string header(size, '\0');
  ReadHeaderPart(source, std::as_writable_bytes(std::span(header)));
  return header;
}

constexpr const char* kLegalTypes = "'<f2', '<f4', '<f8', '<i4', or '<V2' with --dtype bfloat16";

Dtype ParseDescr(const std::string& descr, std::optional<Dtype> wanted, const std::string& name) {
  if (descr == "<f2") return Dtype::kFloat16;
  if (descr == "<f4") return Dtype::kFloat32;
  if (descr == "<f8") return Dtype::kFloat64;
  if (descr == "<i4") return Dtype::kInt32;
  if (descr == "<V2" || descr == "|V2") {
    if (wanted == Dtype::kBFloat16) return Dtype::kBFloat16;
    throw Failure(name + " has elements of two bytes without a type ('" + descr +
                  "'); --dtype bfloat16 reads them as bfloat16");
  }
  std::string what = name + " has elements of type " + Quote(descr);
  if (descr == "[...]") what = name + " has elements of a structured type";
  if (descr.starts_with('>')) what += ", big-endian";
  if (descr.find('O') != std::string::npos) what += ", Python objects";
  throw Failure(what + "; legal are " + kLegalTypes);
}

// The bytes of the array; a shape that nothing can hold is a Failure.
uint64_t BytesOf(const std::vector<int64_t>& shape, Dtype dtype, const std::string& name) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  uint64_t bytes = SizeOf(dtype);
  for (const int64_t size : shape) {
    if (static_cast<uint64_t>(size) > std::numeric_limits<uint64_t>::max() / 2 / bytes) {
      throw Failure(name + " says that its shape is " + Shape(shape) + ", above 2^63 bytes");
    }
    bytes *= static_cast<uint64_t>(size);
  }
  return bytes;
}

const char* DescrOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat16:
      return "<f2";
    case Dtype::kBFloat16:
      return "<V2";
    case Dtype::kFloat32:
      return "<f4";
    case Dtype::kFloat64:
      return "<f8";
    case Dtype::kInt32:
      break;
  }
  return "<i4";
}

}  // namespace

NpyReader::NpyReader(std::unique_ptr<ByteSource> source, std::optional<Dtype> wanted)
    : source_(std::move(source)) {
  const NpyFields fields = ParseNpyHeader(ReadHeader(*source_), name());
  dtype_ = ParseDescr(fields.descr, wanted, name());
  if (wanted && dtype_ != *wanted) {
    throw Failure(name() + " has elements of type " + NameOf(dtype_) + ", --dtype is " +
                  NameOf(*wanted));
  }
  if (fields.fortran_order) {
    throw Failure(name() + " is in Fortran order; save it with numpy.ascontiguousarray");
  }
  shape_ = fields.shape;
  bytes_ = BytesOf(shape_, dtype_, name());
  if (bytes_ > source_->MostLeft()) {
    throw Failure(name() + " is cut short: " + NameOf(dtype_) + " of shape " + Shape(shape_) +
                  " needs " + Bytes(bytes_) + ", more than can follow its header");
  }
  CheckMemory(static_cast<double>(bytes_), name());
}

Buffer NpyReader::Read(Progress& progress) {
  Buffer values;
  uint64_t size = 0;
  while (size < bytes_) {
    // Grows with what is really there: a header alone takes no memory.
    values.Resize(std::min(bytes_, std::max(kFirstPiece, 2 * size)));
    while (size < values.size()) {
      const size_t got = source_->Read(values.bytes().subspan(size));
      if (got == 0) {
        throw Failure(name() + " is cut short: " + Bytes(size) + " of " + Bytes(bytes_) +
                      " are there");
      }
      size += got;
      progress.Tell(Format("reading %s: %.0f %%", name().c_str(),
                           100.0 * static_cast<double>(size) / static_cast<double>(bytes_)));
    }
  }
  // Members of archives tell only here that their check sum is wrong.
  std::byte more;
  if (source_->Read({&more, 1}) != 0) {
    throw Failure(name() + " is damaged: bytes follow the " + Bytes(bytes_) + " of its array");
  }
  return values;
}

std::string NpyHeader(Dtype dtype, const std::vector<int64_t>& shape) {
  const std::string fields = std::string("{'descr': '") + DescrOf(dtype) +
                             "', 'fortran_order': False, 'shape': " + Shape(shape) + ", }";
  constexpr size_t kPrefix = 10;
  const size_t whole = (kPrefix + fields.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  const size_t length = whole - kPrefix;
  std::string header(kMagic);
  header += {'\1', '\0', static_cast<char>(length & 255), static_cast<char>(length >> 8)};
  header += fields;
  header.resize(whole - 1, ' ');
  return header + "\n";
}

}  // namespace dgrad::cli
