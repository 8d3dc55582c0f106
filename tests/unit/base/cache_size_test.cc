#include "src/base/cache_size.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace dgrad {
namespace {

TEST(CacheSizeTest, SizesAreWithinTheirBounds) {
  const CacheSizes& sizes = GetCacheSizes();
  EXPECT_GE(sizes.l1d, 8 << 10);
  EXPECT_LE(sizes.l1d, 1 << 20);
  EXPECT_GE(sizes.l2, 64 << 10);
  EXPECT_LE(sizes.l2, 256 << 20);
  EXPECT_GE(sizes.l3, 1 << 20);
  EXPECT_LE(sizes.l3, int64_t{4} << 30);
  EXPECT_EQ(&sizes, &GetCacheSizes());
}

TEST(CacheSizeTest, TheFirstLevelIsWhatTheKernelTells) {
  const std::string cache = "/sys/devices/system/cpu/cpu0/cache/index0/";
  std::ifstream level_file(cache + "level");
  std::ifstream type_file(cache + "type");
  std::ifstream size_file(cache + "size");
  std::string level;
  std::string type;
  std::string size;
  level_file >> level;
  type_file >> type;
  size_file >> size;
  if (level != "1" || type != "Data") GTEST_SKIP() << "this kernel does not tell cache sizes";
  EXPECT_EQ(GetCacheSizes().l1d, ParseCacheSize(size));
}

TEST(CacheSizeTest, ParsesSysfsSizes) {
  EXPECT_EQ(ParseCacheSize("48K"), 48 << 10);
  EXPECT_EQ(ParseCacheSize("2048K"), 2 << 20);
  EXPECT_EQ(ParseCacheSize("32M"), 32 << 20);
  EXPECT_EQ(ParseCacheSize("1G"), 1 << 30);
  EXPECT_EQ(ParseCacheSize("512"), 512);
  for (const char* text : {"", "K", "-1K", "48X", "48KB", "48 K", "99999999999999999999K"}) {
    EXPECT_EQ(ParseCacheSize(text), 0) << text;
  }
}

TEST(CacheSizeTest, TheModelNameIsTrimmed) {
  const std::string& name = CpuModelName();
  ASSERT_FALSE(name.empty());
  EXPECT_NE(name.front(), ' ');
  EXPECT_NE(name.back(), ' ');
  EXPECT_EQ(name.find('\0'), std::string::npos);
}

}  // namespace
}  // namespace dgrad
