#include "points/record.h"

#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/json.h"

namespace addons {
namespace {

constexpr int kVersion = 1;
constexpr int kLevel = 3;  // of zstd
/// Of a value, before base64 makes four thirds of it: less than 64 KiB.
constexpr size_t kPartBytes = 45000;
constexpr size_t kDigestBytes = sizeof(uint64_t);
/// 16 TiB in objects of 4 MiB: who writes a record holds eight bytes for each.
constexpr uint64_t kMostObjects = uint64_t{1} << 22;

std::string PartKey(uint64_t part) {
  return absl::StrFormat("%s.%03d", kPointRecordKey, part);
}

std::string ChecksumOf(absl::string_view bytes) {
  return absl::StrFormat("%016x", XXH3_64bits(bytes.data(), bytes.size()));
}

uint64_t CeilOf(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit;
}

absl::Status TooManyGaps(size_t most) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "the image has so many gaps of zeros that a list of them takes more than "
      "the ",
      most, " bytes that a record may have"));
}

absl::Status Damaged(absl::string_view what) {
  return absl::DataLossError(absl::StrCat(
      "the record of the point is damaged (", what, "); make a new point"));
}

}  // namespace

// --- the shape

absl::StatusOr<PointShape> PointShape::Of(const ImageLayout& layout) {
  PointShape shape{layout.bytes, layout.object_bytes, layout.stripe_unit,
                   layout.stripe_count};
  if (shape.object_bytes < kBlockBytes || shape.stripe_count == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("an image with objects of ", shape.object_bytes,
                     " bytes cannot be described"));
  }
  if (shape.objects() > kMostObjects) {
    return absl::InvalidArgumentError(
        "the image has too many objects to be described");
  }
  if (shape.stripe_count > 1 &&
      shape.bytes % (shape.object_bytes * shape.stripe_count) != 0) {
    return absl::InvalidArgumentError(
        "the image is striped, and its size is no multiple of its stripes");
  }
  return shape;
}

uint64_t PointShape::objects() const {
  return CeilOf(bytes, object_bytes * stripe_count) * stripe_count;
}

uint64_t PointShape::ExtentOf(uint64_t object) const {
  if (stripe_count > 1) return object_bytes;
  return std::min(object_bytes, bytes - object * object_bytes);
}

bool PointHeader::IsOf(const Point& of, const MirrorImageInfo& info) const {
  return point == of.name && global_id == info.global_id &&
         (!info.primary || snapshot == of.snapshot);
}

// --- writing

class RecordWriter::Compressor {
 public:
  Compressor() : stream_(ZSTD_createCCtx()) {
    ZSTD_CCtx_setParameter(stream_, ZSTD_c_compressionLevel, kLevel);
  }
  ~Compressor() { ZSTD_freeCCtx(stream_); }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  void Add(absl::string_view bytes) { Feed(bytes, ZSTD_e_continue); }
  size_t size() const { return out_.size(); }
  std::string Finish() {
    Feed("", ZSTD_e_end);
    return std::move(out_);
  }

 private:
  void Feed(absl::string_view bytes, ZSTD_EndDirective end) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    std::string piece(ZSTD_CStreamOutSize(), '\0');
    while (true) {
      ZSTD_outBuffer out{piece.data(), piece.size(), 0};
      const size_t left = ZSTD_compressStream2(stream_, &out, &in, end);
      out_.append(piece, 0, out.pos);
      const bool done = end == ZSTD_e_end ? left == 0 : in.pos == in.size;
      if (done || ZSTD_isError(left) != 0) return;
    }
  }

  ZSTD_CCtx* const stream_;
  std::string out_;
};

RecordWriter::RecordWriter(PointHeader header, size_t most)
    : header_(std::move(header)),
      most_(most),
      present_(CeilOf(header_.shape.objects(), 8), '\0'),
      sectors_(std::make_unique<Compressor>()),
      blocks_(std::make_unique<Compressor>()) {}

RecordWriter::~RecordWriter() = default;

absl::Status RecordWriter::Add(const ObjectSum& sum) {
  const uint64_t object = objects_++;
  if (sum.zeros.empty() || object >= header_.shape.objects()) {
    return absl::OkStatus();
  }
  present_[object / 8] = static_cast<char>(
      static_cast<unsigned char>(present_[object / 8]) | 1U << object % 8);
  if (sectors_ != nullptr) {
    sectors_->Add(sum.zeros);
    if (sectors_->size() > most_) sectors_.reset();
  }
  blocks_->Add(WholeBlocks(sum.zeros));
  digests_.push_back(sum.digest);
  return blocks_->size() > most_ ? TooManyGaps(most_) : absl::OkStatus();
}

absl::StatusOr<std::map<std::string, std::string>> RecordWriter::Finish() {
  Compressor compressed;
  compressed.Add(present_);
  const std::string present = compressed.Finish();
  const auto size_with = [&](const std::string& zeros, uint64_t group) {
    return present.size() + zeros.size() +
           CeilOf(digests_.size(), group) * kDigestBytes;
  };
  std::string zeros;
  bool sectors = false;
  if (sectors_ != nullptr) {
    zeros = sectors_->Finish();
    sectors = size_with(zeros, kGroupBeforeSectors) <= most_;
  }
  if (!sectors) zeros = blocks_->Finish();
  if (size_with(zeros, UINT64_MAX) > most_) return TooManyGaps(most_);
  uint64_t group = 1;
  while (size_with(zeros, group) > most_) group *= 2;
  std::string payload = present + zeros;
  for (size_t i = 0; i < digests_.size(); i += group) {
    const size_t count = std::min<size_t>(group, digests_.size() - i);
    const uint64_t digest =
        group == 1 ? digests_[i] : DigestTogether(&digests_[i], count);
    for (unsigned shift = 0; shift < 64; shift += 8) {
      payload.push_back(static_cast<char>(digest >> shift & 0xff));
    }
  }
  const PointShape& shape = header_.shape;
  const uint64_t parts = CeilOf(payload.size(), kPartBytes);
  std::map<std::string, std::string> metadata;
  metadata[kPointRecordKey] =
      AsciiJsonText({{"version", kVersion},
                     {"point", header_.point},
                     {"snapshot", header_.snapshot},
                     {"globalId", header_.global_id},
                     {"site", header_.site},
                     {"made", header_.made},
                     {"bytes", shape.bytes},
                     {"objectBytes", shape.object_bytes},
                     {"stripeUnit", shape.stripe_unit},
                     {"stripeCount", shape.stripe_count},
                     {"withData", digests_.size()},
                     {"group", group},
                     {"sectors", sectors},
                     {"presentBytes", present.size()},
                     {"zerosBytes", zeros.size()},
                     {"parts", parts},
                     {"checksum", ChecksumOf(payload)}});
  for (uint64_t part = 0; part < parts; ++part) {
    metadata[PartKey(part)] = absl::Base64Escape(
        absl::string_view(payload).substr(part * kPartBytes, kPartBytes));
  }
  return metadata;
}

// --- reading

class RecordReader::Decompressor {
 public:
  explicit Decompressor(std::string bytes)
      : stream_(ZSTD_createDCtx()), bytes_(std::move(bytes)) {}
  ~Decompressor() { ZSTD_freeDCtx(stream_); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  /// false: there are not so many, or they are damaged.
  bool Read(size_t count, std::string* bytes) {
    bytes->resize(count);
    ZSTD_outBuffer out{bytes->data(), count, 0};
    ZSTD_inBuffer in{bytes_.data(), bytes_.size(), at_};
    while (out.pos < out.size) {
      const size_t before = out.pos;
      const size_t result = ZSTD_decompressStream(stream_, &out, &in);
      if (ZSTD_isError(result) != 0) return false;
      if (out.pos == before && in.pos == in.size) return false;
    }
    at_ = in.pos;
    return true;
  }

 private:
  ZSTD_DCtx* const stream_;
  const std::string bytes_;
  size_t at_ = 0;
};

RecordReader::RecordReader() = default;
RecordReader::~RecordReader() = default;
RecordReader::RecordReader(RecordReader&&) noexcept = default;
RecordReader& RecordReader::operator=(RecordReader&&) noexcept = default;

namespace {

/// What the parts hold together.
absl::StatusOr<std::string> PayloadOf(
    const std::map<std::string, std::string>& metadata, uint64_t parts) {
  std::string payload;
  for (uint64_t part = 0; part < parts; ++part) {
    const auto found = metadata.find(PartKey(part));
    std::string bytes;
    if (found == metadata.end()) return Damaged("a part is missing");
    if (!absl::Base64Unescape(found->second, &bytes)) {
      return Damaged("a part is no base64");
    }
    payload += bytes;
  }
  return payload;
}

}  // namespace

absl::StatusOr<RecordReader> RecordReader::Open(
    const std::map<std::string, std::string>& metadata) {
  const auto found = metadata.find(kPointRecordKey);
  if (found == metadata.end()) {
    return absl::NotFoundError("no record of a point is there");
  }
  JsonFields fields(found->second);
  if (!fields.is_object()) return Damaged("its header is no JSON object");
  if (fields.Number("version") > kVersion) {
    return absl::UnimplementedError(
        "a newer version of rbd-addons made the record of the point; verify it "
        "with that one, or make a new point with this one");
  }
  constexpr uint64_t kMostBytes = uint64_t{1} << 56;
  RecordReader reader;
  PointHeader& header = reader.header_;
  header.point = fields.Text("point");
  header.snapshot = fields.Number("snapshot");
  header.global_id = fields.Text("globalId");
  header.site = fields.Text("site");
  header.made = static_cast<int64_t>(fields.Number("made", INT64_MAX));
  ImageLayout layout;
  layout.bytes = fields.Number("bytes", kMostBytes);
  layout.object_bytes = fields.Number("objectBytes", 1ULL << 32);
  layout.stripe_unit = fields.Number("stripeUnit", 1ULL << 32);
  layout.stripe_count = fields.Number("stripeCount", 1ULL << 16);
  reader.with_data_ = fields.Number("withData", kMostObjects);
  reader.group_ = fields.Number("group", kMostObjects);
  reader.sectors_ = fields.Flag("sectors");
  const uint64_t present_bytes = fields.Number("presentBytes");
  const uint64_t zeros_bytes = fields.Number("zerosBytes");
  const uint64_t parts = fields.Number("parts", 1000);
  const std::string checksum = fields.Text("checksum");
  if (!fields.wrong().empty()) {
    return Damaged(absl::StrCat("'", fields.wrong(), "' in its header"));
  }
  if (!CheckPointName(header.point).ok()) return Damaged("its name");
  const auto shape = PointShape::Of(layout);
  if (!shape.ok() || reader.group_ == 0 ||
      reader.with_data_ > shape->objects()) {
    return Damaged("its sizes");
  }
  header.shape = *shape;
  auto payload = PayloadOf(metadata, parts);
  if (!payload.ok()) return payload.status();
  if (ChecksumOf(*payload) != checksum) return Damaged("its checksum");
  const uint64_t digests_bytes =
      CeilOf(reader.with_data_, reader.group_) * kDigestBytes;
  if (present_bytes > payload->size() ||
      zeros_bytes > payload->size() - present_bytes ||
      payload->size() - present_bytes - zeros_bytes != digests_bytes) {
    return Damaged("its sizes");
  }
  Decompressor present(payload->substr(0, present_bytes));
  if (!present.Read(CeilOf(header.shape.objects(), 8), &reader.present_)) {
    return Damaged("its list of objects");
  }
  uint64_t with_data = 0;
  for (const char bits : reader.present_) {
    with_data +=
        static_cast<uint64_t>(std::popcount(static_cast<unsigned char>(bits)));
  }
  if (with_data != reader.with_data_) return Damaged("its list of objects");
  reader.zeros_ = std::make_unique<Decompressor>(
      payload->substr(present_bytes, zeros_bytes));
  reader.digests_ = payload->substr(present_bytes + zeros_bytes);
  return reader;
}

absl::StatusOr<std::string> RecordReader::NextZeros() {
  const uint64_t object = next_++;
  if (object >= header_.shape.objects()) return Damaged("its end");
  const auto byte = static_cast<unsigned char>(present_[object / 8]);
  std::string zeros;
  if ((byte >> object % 8 & 1U) == 0) return zeros;
  if (!zeros_->Read(CeilOf(header_.shape.ExtentOf(object), kBlockBytes),
                    &zeros)) {
    return Damaged("its map of zeros");
  }
  return zeros;
}

uint64_t RecordReader::DigestOf(uint64_t index) const {
  uint64_t digest = 0;
  for (size_t i = 0; i < kDigestBytes; ++i) {
    digest |= static_cast<uint64_t>(static_cast<unsigned char>(
                  digests_[index * kDigestBytes + i]))
              << 8 * i;
  }
  return digest;
}

}  // namespace addons
