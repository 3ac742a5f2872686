// The quota of control groups, on folders that look like theirs.
#include "runtime/processors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace stator {
namespace {

class CgroupQuota : public testing::Test {
 protected:
  CgroupQuota() : folder_(testing::TempDir() + "cgroup" + std::to_string(getpid())) {}
  ~CgroupQuota() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(folder_ + "/" + path).parent_path());
    std::ofstream(folder_ + "/" + path) << text;
  }
  double quota(const std::string& groups) const {
    write("groups", groups);
    return cgroup_quota(folder_ + "/groups", folder_ + "/root");
  }

 private:
  std::string folder_;
};

TEST_F(CgroupQuota, the_tightest_of_nested_groups_counts) {
  write("root/a/cpu.max", "150000 100000\n");
  write("root/a/b/cpu.max", "400000 100000\n");
  write("root/a/b/c/cpu.max", "max 100000\n");
  EXPECT_DOUBLE_EQ(quota("0::/a/b/c\n"), 1.5);
}

TEST_F(CgroupQuota, none_is_0) {
  write("root/a/cpu.max", "max 100000\n");
  EXPECT_EQ(quota("0::/a\n"), 0);
  EXPECT_EQ(quota(""), 0);
}

TEST_F(CgroupQuota, a_container_sees_its_group_as_the_root) {
  write("root/cpu.max", "200000 100000\n");
  EXPECT_DOUBLE_EQ(quota("0::/\n"), 2);
  EXPECT_DOUBLE_EQ(quota("0::/docker/that/is/not/seen\n"), 2);
}

TEST_F(CgroupQuota, version_1_is_read_too) {
  write("root/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
  write("root/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
  write("root/cpu,cpuacct/a/cpu.cfs_quota_us", "50000\n");
  write("root/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(quota("5:memory:/x\n4:cpu,cpuacct:/a/b\n0::/\n"), 0.5);
}

TEST(Processors, there_is_at_least_one) { EXPECT_GE(available_processors(), 1); }

}  // namespace
}  // namespace stator
