#include "values/npz.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "graph/error.h"
#include "values/zip.h"

namespace stator {
namespace {

using Bytes = std::vector<uint8_t>;

// numpy 2.4: savez_compressed(a=arange(6, '<f4').reshape(2, 3), b=asfortranarray(arange(6, '<i8').reshape(2, 3)), c=array(True))
const Bytes kCompressed = {
    0x50, 0x4b, 0x03, 0x04, 0x2d, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00, 0x4f, 0xe9, 0x00, 0x2a, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x05, 0x00, 0x14, 0x00, 0x61, 0x2e, 0x6e, 0x70, 0x79, 0x01, 0x00, 0x10,
    0x00, 0x98, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x55, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x9b, 0xec,
    0x17, 0xea, 0x1b, 0x10, 0xc9, 0xc8, 0x50, 0xc6, 0x50, 0xad, 0x9e, 0x92, 0x5a, 0x9c, 0x5c, 0xa4, 0x6e, 0xa5, 0xa0,
    0x6e, 0x93, 0x66, 0xa2, 0xae, 0xa3, 0xa0, 0x9e, 0x96, 0x5f, 0x54, 0x52, 0x94, 0x98, 0x17, 0x9f, 0x5f, 0x94, 0x92,
    0x0a, 0x12, 0x77, 0x4b, 0xcc, 0x29, 0x4e, 0x05, 0x8a, 0x17, 0x67, 0x24, 0x16, 0xa4, 0x02, 0xf9, 0x1a, 0x46, 0x3a,
    0x0a, 0xc6, 0x9a, 0x3a, 0x0a, 0xb5, 0x0a, 0x64, 0x03, 0x2e, 0x06, 0x30, 0x68, 0xb0, 0x07, 0x12, 0x0e, 0x40, 0x04,
    0xc4, 0x0d, 0x40, 0xbc, 0xc0, 0x01, 0x00, 0x50, 0x4b, 0x03, 0x04, 0x2d, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00,
    0x21, 0x00, 0xf7, 0x3b, 0x78, 0x14, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x05, 0x00, 0x14, 0x00, 0x62,
    0x2e, 0x6e, 0x70, 0x79, 0x01, 0x00, 0x10, 0x00, 0xb0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x55, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x9b, 0xec, 0x17, 0xea, 0x1b, 0x10, 0xc9, 0xc8, 0x50, 0xc6, 0x50, 0xad, 0x9e, 0x92,
    0x5a, 0x9c, 0x5c, 0xa4, 0x6e, 0xa5, 0xa0, 0x6e, 0x93, 0x69, 0xa1, 0xae, 0xa3, 0xa0, 0x9e, 0x96, 0x5f, 0x54, 0x52,
    0x94, 0x98, 0x17, 0x9f, 0x5f, 0x94, 0x92, 0x0a, 0x12, 0x0f, 0x29, 0x2a, 0x4d, 0x05, 0x0a, 0x17, 0x67, 0x24, 0x16,
    0xa4, 0x02, 0xb9, 0x1a, 0x46, 0x3a, 0x0a, 0xc6, 0x9a, 0x3a, 0x0a, 0xb5, 0x0a, 0xe4, 0x03, 0x2e, 0x06, 0x28, 0x60,
    0x86, 0xd2, 0x8c, 0x50, 0x9a, 0x05, 0x4a, 0x33, 0x41, 0x69, 0x56, 0x28, 0x0d, 0x00, 0x50, 0x4b, 0x03, 0x04, 0x2d,
    0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00, 0x82, 0x2d, 0xf8, 0xd3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0x05, 0x00, 0x14, 0x00, 0x63, 0x2e, 0x6e, 0x70, 0x79, 0x01, 0x00, 0x10, 0x00, 0x81, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x43, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x9b, 0xec, 0x17, 0xea, 0x1b, 0x10, 0xc9,
    0xc8, 0x50, 0xc6, 0x50, 0xad, 0x9e, 0x92, 0x5a, 0x9c, 0x5c, 0xa4, 0x6e, 0xa5, 0xa0, 0x5e, 0x93, 0x64, 0xa8, 0xae,
    0xa3, 0xa0, 0x9e, 0x96, 0x5f, 0x54, 0x52, 0x94, 0x98, 0x17, 0x9f, 0x5f, 0x94, 0x92, 0x0a, 0x12, 0x77, 0x4b, 0xcc,
    0x29, 0x4e, 0x05, 0x8a, 0x17, 0x67, 0x24, 0x16, 0xa4, 0x02, 0xf9, 0x1a, 0x9a, 0x3a, 0x0a, 0xb5, 0x0a, 0x14, 0x01,
    0x2e, 0x46, 0x00, 0x50, 0x4b, 0x01, 0x02, 0x2d, 0x03, 0x2d, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00,
    0x4f, 0xe9, 0x00, 0x2a, 0x55, 0x00, 0x00, 0x00, 0x98, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x01, 0x00, 0x00, 0x00, 0x00, 0x61, 0x2e, 0x6e, 0x70, 0x79, 0x50, 0x4b, 0x01,
    0x02, 0x2d, 0x03, 0x2d, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00, 0xf7, 0x3b, 0x78, 0x14, 0x55, 0x00,
    0x00, 0x00, 0xb0, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80,
    0x01, 0x8c, 0x00, 0x00, 0x00, 0x62, 0x2e, 0x6e, 0x70, 0x79, 0x50, 0x4b, 0x01, 0x02, 0x2d, 0x03, 0x2d, 0x00, 0x00,
    0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00, 0x82, 0x2d, 0xf8, 0xd3, 0x43, 0x00, 0x00, 0x00, 0x81, 0x00, 0x00, 0x00,
    0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x01, 0x18, 0x01, 0x00, 0x00, 0x63,
    0x2e, 0x6e, 0x70, 0x79, 0x50, 0x4b, 0x05, 0x06, 0x00, 0x00, 0x00, 0x00, 0x03, 0x00, 0x03, 0x00, 0x99, 0x00, 0x00,
    0x00, 0x92, 0x01, 0x00, 0x00, 0x00, 0x00,
};

// numpy 2.4: savez(array([1, -2], 'i1'))
const Bytes kStored = {
    0x50, 0x4b, 0x03, 0x04, 0x2d, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x21, 0x00, 0xf9, 0x9b, 0xf3, 0x12, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x09, 0x00, 0x14, 0x00, 0x61, 0x72, 0x72, 0x5f, 0x30, 0x2e, 0x6e, 0x70,
    0x79, 0x01, 0x00, 0x10, 0x00, 0x82, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x82, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 0x01, 0x00, 0x76, 0x00, 0x7b, 0x27, 0x64, 0x65, 0x73, 0x63, 0x72,
    0x27, 0x3a, 0x20, 0x27, 0x7c, 0x69, 0x31, 0x27, 0x2c, 0x20, 0x27, 0x66, 0x6f, 0x72, 0x74, 0x72, 0x61, 0x6e, 0x5f,
    0x6f, 0x72, 0x64, 0x65, 0x72, 0x27, 0x3a, 0x20, 0x46, 0x61, 0x6c, 0x73, 0x65, 0x2c, 0x20, 0x27, 0x73, 0x68, 0x61,
    0x70, 0x65, 0x27, 0x3a, 0x20, 0x28, 0x32, 0x2c, 0x29, 0x2c, 0x20, 0x7d, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20,
    0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20,
    0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20,
    0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x0a, 0x01, 0xfe, 0x50,
    0x4b, 0x01, 0x02, 0x2d, 0x03, 0x2d, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x21, 0x00, 0xf9, 0x9b, 0xf3, 0x12,
    0x82, 0x00, 0x00, 0x00, 0x82, 0x00, 0x00, 0x00, 0x09, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x80, 0x01, 0x00, 0x00, 0x00, 0x00, 0x61, 0x72, 0x72, 0x5f, 0x30, 0x2e, 0x6e, 0x70, 0x79, 0x50, 0x4b, 0x05,
    0x06, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x01, 0x00, 0x37, 0x00, 0x00, 0x00, 0xbd, 0x00, 0x00, 0x00, 0x00, 0x00,
};

class Npz : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  void write_file(const Bytes& bytes) {
    std::ofstream file(path_, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  Bytes file_bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(file), {});
  }
  // An archive of one member "x.npy": magic, version 1 and `header`, then `body`.
  void write_array(const std::string& header, const std::string& body, char version = 1) {
    std::string head = std::string("\x93NUMPY") + version + '\0';
    for (int i = 0; i < (version == 1 ? 2 : 4); ++i) head += static_cast<char>(header.size() >> (8 * i));
    head += header;
    ZipWriter zip(path_);
    zip.add("x.npy", bytes_of(head), bytes_of(body));
    zip.finish();
  }
  static std::span<const uint8_t> bytes_of(const std::string& text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
  }

  // The error that reading gives, as "code: message" without the path.
  std::string read_error() const {
    try {
      read_npz(path_);
    } catch (const Error& error) {
      const size_t at = error.message.find(path_);
      EXPECT_NE(at, std::string::npos) << error.message;
      return std::to_string(static_cast<int>(error.code)) +
             error.message.substr(at == std::string::npos ? 0 : at + path_.size());
    }
    return "no error";
  }

  const std::string path_ = testing::TempDir() + "npz_test_" + std::to_string(getpid()) + ".npz";
};

bool same_bytes(const at::Tensor& a, const at::Tensor& b) {
  return a.nbytes() == b.nbytes() && std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

std::string float_bytes(std::initializer_list<float> values) {
  std::string result(values.size() * sizeof(float), '\0');
  std::copy(values.begin(), values.end(), reinterpret_cast<float*>(result.data()));
  return result;
}

TEST_F(Npz, reads_what_numpy_compressed) {
  write_file(kCompressed);
  const auto arrays = read_npz(path_);
  ASSERT_EQ(arrays.size(), 3u);
  EXPECT_EQ(arrays[0].first, "a");
  EXPECT_TRUE(arrays[0].second.equal(at::arange(6, at::kFloat).reshape({2, 3})));
  EXPECT_EQ(arrays[1].first, "b");
  EXPECT_TRUE(arrays[1].second.equal(at::arange(6, at::kLong).reshape({2, 3})));
  EXPECT_EQ(arrays[1].second.strides(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(arrays[2].first, "c");
  EXPECT_TRUE(arrays[2].second.equal(at::scalar_tensor(true, at::kBool)));
}

TEST_F(Npz, reads_what_numpy_stored) {
  write_file(kStored);
  const auto arrays = read_npz(path_);
  ASSERT_EQ(arrays.size(), 1u);
  EXPECT_EQ(arrays[0].first, "arr_0");
  EXPECT_TRUE(arrays[0].second.equal(at::tensor({1, -2}, at::kChar)));
}

TEST_F(Npz, gives_back_every_dtype_and_layout_that_it_writes) {
  std::vector<NamedTensor> arrays;
  for (const at::ScalarType dtype :
       {at::kBool, at::kChar, at::kShort, at::kInt, at::kLong, at::kByte, at::kUInt16, at::kUInt32, at::kUInt64,
        at::kHalf, at::kFloat, at::kDouble, at::kComplexFloat, at::kComplexDouble}) {
    arrays.emplace_back(c10::toString(dtype), at::arange(6, at::kInt).reshape({2, 3}).to(dtype));
  }
  arrays.emplace_back("scalar", at::scalar_tensor(2.5, at::kDouble));
  arrays.emplace_back("one/dim\xc3\xa9", at::arange(3, at::kFloat));
  arrays.emplace_back("empty", at::empty({3, 0, 2}, at::kFloat));
  arrays.emplace_back("fortran", at::arange(24, at::kFloat).reshape({4, 3, 2}).permute({2, 1, 0}));
  write_npz(path_, arrays);
  const auto read = read_npz(path_);
  ASSERT_EQ(read.size(), arrays.size());
  for (size_t i = 0; i < read.size(); ++i) {
    SCOPED_TRACE(arrays[i].first);
    EXPECT_EQ(read[i].first, arrays[i].first);
    EXPECT_EQ(read[i].second.scalar_type(), arrays[i].second.scalar_type());
    EXPECT_EQ(read[i].second.sizes(), arrays[i].second.sizes());
    EXPECT_EQ(read[i].second.strides(), arrays[i].second.strides());
    EXPECT_TRUE(read[i].second.numel() == 0 || same_bytes(read[i].second.contiguous(), arrays[i].second.contiguous()));
  }
}

TEST_F(Npz, writes_strided_tensors_as_their_elements_read) {
  const at::Tensor base = at::arange(12, at::kFloat).reshape({3, 4});
  const at::Tensor complex = at::complex(base, base).conj();
  write_npz(path_,
            std::vector<NamedTensor>{
                {"column", base.select(1, 2)}, {"expanded", base.select(0, 1).expand({2, 4})}, {"conj", complex}});
  const auto read = read_npz(path_);
  EXPECT_TRUE(read[0].second.equal(base.select(1, 2)));
  EXPECT_TRUE(read[1].second.equal(base.select(0, 1).expand({2, 4})));
  EXPECT_TRUE(read[2].second.equal(complex.resolve_conj()));
}

TEST_F(Npz, an_archive_without_arrays_is_empty) {
  write_npz(path_, {});
  EXPECT_TRUE(read_npz(path_).empty());
}

TEST_F(Npz, more_members_than_16_bits_count) {
  std::vector<NamedTensor> arrays;
  for (int i = 0; i < 65537; ++i) arrays.emplace_back(std::to_string(i), at::Tensor());
  const at::Tensor one = at::scalar_tensor(1, at::kChar);
  for (auto& array : arrays) array.second = one;
  write_npz(path_, arrays);
  const auto read = read_npz(path_);
  ASSERT_EQ(read.size(), arrays.size());
  EXPECT_EQ(read.back().first, "65536");
}

TEST_F(Npz, bytes_other_than_0_and_1_are_true) {
  write_array("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", std::string("\xff\0", 2));
  EXPECT_TRUE(read_npz(path_)[0].second.equal(at::tensor({1, 0}, at::kByte).to(at::kBool)));
}

TEST_F(Npz, every_form_of_header_that_numpy_has_written) {
  const at::Tensor expected = at::tensor({1.f, 2.f}, at::kFloat);
  const std::string body = float_bytes({1, 2});
  for (const char version : {1, 2, 3}) {
    for (const char* header : {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
                               "{'shape': (2L,), 'fortran_order': False, 'descr': '<f4'}  \n",
                               "{\"descr\": \"<f4\", \"fortran_order\": True, \"shape\": (2,)}"}) {
      write_array(header, body, version);
      EXPECT_TRUE(read_npz(path_)[0].second.equal(expected)) << header;
    }
  }
}

TEST_F(Npz, reads_zip64_sizes_in_a_small_file) {
  write_array("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", float_bytes({7}));
  const Bytes plain = file_bytes();
  // The same archive with sizes and offset moved into the directory's zip64 field, and a zip64 end record.
  const size_t end = plain.size() - 22;
  const auto u32 = [&](const Bytes& b, size_t at) {
    return static_cast<uint32_t>(b[at] | b[at + 1] << 8 | b[at + 2] << 16 | b[at + 3] << 24);
  };
  const auto put = [](Bytes& b, uint64_t value, int size) {
    for (int i = 0; i < size; ++i) b.push_back(static_cast<uint8_t>(value >> (8 * i)));
  };
  const size_t directory = u32(plain, end + 16);
  const uint32_t size = u32(plain, directory + 24);
  Bytes file(plain.begin(), plain.begin() + static_cast<int64_t>(end));
  for (const size_t field : {20, 24, 42})
    std::fill_n(file.begin() + static_cast<int64_t>(directory + field), 4, uint8_t{0xff});
  file[directory + 30] = 28 + 4;
  Bytes extra;
  put(extra, 0xcafe, 2), put(extra, 0, 2);  // another extra field first
  put(extra, 1, 2), put(extra, 24, 2), put(extra, size, 8), put(extra, size, 8), put(extra, 0, 8);
  file.insert(file.end(), extra.begin(), extra.end());
  const size_t end64 = file.size();
  put(file, 0x06064b50, 4), put(file, 44, 8), put(file, 45, 2), put(file, 45, 2), put(file, 0, 8);
  put(file, 1, 8), put(file, 1, 8), put(file, end64 - directory, 8), put(file, directory, 8);
  put(file, 0x07064b50, 4), put(file, 0, 4), put(file, end64, 8), put(file, 1, 4);
  put(file, 0x06054b50, 4), put(file, 0, 4), put(file, 0xffff, 2), put(file, 0xffff, 2), put(file, 0xffffffff, 4),
      put(file, 0xffffffff, 4), put(file, 0, 2);
  write_file(file);
  EXPECT_TRUE(read_npz(path_)[0].second.equal(at::tensor({7.f}, at::kFloat)));
}

TEST_F(Npz, refuses_headers_with_a_reason) {
  struct Row {
    const char* header;
    const char* error;
  };
  const Row rows[] = {
      {"{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }",
       "202: array \"x\": numpy dtype '>f4' is big-endian"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
       "202: array \"x\": numpy dtype '|O' holds Python objects"},
      {"{'descr': '<U4', 'fortran_order': False, 'shape': (1,), }", "202: array \"x\": numpy dtype '<U4' holds text"},
      {"{'descr': '<f16', 'fortran_order': False, 'shape': (1,), }",
       "202: array \"x\": numpy dtype '<f16' has no counterpart"},
      {"{'descr': '|V2', 'fortran_order': False, 'shape': (2,), }", "202: array \"x\": numpy dtype '|V2' is raw bytes"},
      {"{'descr': '<M8[s]', 'fortran_order': False, 'shape': (1,), }",
       "202: array \"x\": numpy dtype '<M8[s]' holds times"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "202: array \"x\": is a structured array"},
      {"{'descr': '', 'fortran_order': False, 'shape': (1,), }", "202: array \"x\": numpy dtype '' has no counterpart"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
       "201: array \"x\": is damaged: its shape needs 8 bytes and the file holds 4"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "201: array \"x\": its .npy header is damaged"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,), }",
       "201: array \"x\": its .npy header is damaged: the shape is larger"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3037000500, 3037000500), }",
       "201: array \"x\": its .npy header is damaged: the shape is"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
       "201: array \"x\": its .npy header is damaged: a size"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1", "201: array \"x\": its .npy header is damaged"},
      {"{'descr': '<f4', 'fortran_order': False, }",
       "201: array \"x\": its .npy header is damaged: descr, fortran_order or shape is missing"},
      {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }",
       "201: array \"x\": its .npy header is damaged: True or False"},
      {"", "201: array \"x\": its .npy header is damaged: it is no dict"},
  };
  for (const Row& row : rows) {
    write_array(row.header, float_bytes({1}));
    EXPECT_EQ(read_error().substr(0, std::string_view(row.error).size()), row.error) << row.header;
  }
  write_array("{}", float_bytes({1}), 4);
  EXPECT_EQ(read_error(), "202: array \"x\": is of .npy version 4; versions 1 to 3 can be read");
}

TEST_F(Npz, refuses_files_that_are_none) {
  EXPECT_EQ(read_error().substr(0, 23), "101: cannot be opened: ");
  write_file({});
  EXPECT_EQ(read_error(), "201: is no zip archive, or only the beginning of one");
  write_file(Bytes(100, 'x'));
  EXPECT_EQ(read_error(), "201: is no zip archive, or only the beginning of one");
  const std::string text = "plain";
  ZipWriter zip(path_);
  zip.add("readme.txt", bytes_of(text), {});
  zip.finish();
  EXPECT_EQ(read_error(), "202: member \"readme.txt\" is no .npy array");
}

TEST_F(Npz, a_flipped_element_fails_the_checksum) {
  write_array("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", float_bytes({7}));
  Bytes bytes = file_bytes();
  for (size_t i = 0; i + 3 < bytes.size(); ++i) {
    if (bytes[i + 2] == 0xe0 && bytes[i + 3] == 0x40) {  // 7.0f
      bytes[i] ^= 1;
      break;
    }
  }
  write_file(bytes);
  EXPECT_EQ(read_error(), "201: the zip archive is damaged: member \"x.npy\": its checksum is wrong");
}

TEST_F(Npz, every_truncation_is_an_error) {
  for (const Bytes& whole : {kCompressed, kStored}) {
    for (size_t size = 0; size < whole.size(); ++size) {
      write_file(Bytes(whole.begin(), whole.begin() + static_cast<int64_t>(size)));
      EXPECT_EQ(read_error().substr(0, 3), "201") << size;
    }
  }
}

// Whatever a byte becomes, reading ends in arrays or in an Error (under the sanitizers: and touches no memory but its own).
TEST_F(Npz, every_changed_byte_is_survived) {
  for (const Bytes& whole : {kCompressed, kStored}) {
    for (size_t i = 0; i < whole.size(); ++i) {
      for (const uint8_t value : {0x00, 0x7f, 0xff}) {
        Bytes changed = whole;
        changed[i] = value;
        write_file(changed);
        try {
          read_npz(path_);
        } catch (const Error&) {
        }
      }
    }
  }
}

TEST_F(Npz, members_that_overlap_are_refused) {
  write_npz(path_, std::vector<NamedTensor>{{"a", at::ones({2})}, {"b", at::ones({2})}});
  Bytes bytes = file_bytes();
  const size_t end = bytes.size() - 22;
  const size_t directory = bytes[end + 16] | bytes[end + 17] << 8;
  const size_t second = directory + 46 + 5;
  std::fill_n(bytes.begin() + static_cast<int64_t>(second + 42), 4, uint8_t{0});
  write_file(bytes);
  EXPECT_EQ(read_error(), "201: the zip archive is damaged: member \"a.npy\" overlaps another");
}

TEST_F(Npz, refuses_to_write_what_numpy_lacks) {
  const auto error = [&](std::vector<NamedTensor> arrays) {
    try {
      write_npz(path_, arrays);
    } catch (const Error& e) {
      return std::to_string(static_cast<int>(e.code)) + e.message.substr(path_.size());
    }
    return std::string("no error");
  };
  EXPECT_EQ(error({{"x", at::ones({1}, at::kBFloat16)}}),
            "202: array \"x\": numpy has no dtype for BFloat16; write a .pt file, or convert it first");
  EXPECT_EQ(error({{"x", at::Tensor()}}), "202: array \"x\": only dense tensors on the CPU can be written");
  EXPECT_EQ(error({{"x", at::ones({1})}, {"x", at::ones({1})}}), "100: array \"x\": there are two of this name");
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_THROW(write_npz(path_ + "/no/such/folder.npz", {}), Error);
}

}  // namespace
}  // namespace stator
