#include "replication/look/nvmeof_export.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace addons::testing {
namespace {

TEST(NvmeofExportTest, WhatTheDriverNotesIsToldInALine) {
  EXPECT_EQ(DescribeNvmeofExport({}), "");
  std::map<std::string, std::string> noted = {
      {".rbd.nvmeof.NamespaceID", "3"},
      {".rbd.nvmeof.GatewayAddress", "10.0.0.5"},
      {".rbd.nvmeof.GatewayPort", "5500"}};
  EXPECT_EQ(DescribeNvmeofExport(noted), "");
  noted[".rbd.nvmeof.SubsystemNQN"] = "nqn.2016-06.io.spdk:site-a";
  EXPECT_EQ(DescribeNvmeofExport(noted),
            "namespace 3 of subsystem 'nqn.2016-06.io.spdk:site-a' at the "
            "NVMe-oF gateway '10.0.0.5:5500'");
}

TEST(NvmeofExportTest, WhatIsMissingOrOddIsNoFault) {
  EXPECT_EQ(DescribeNvmeofExport({{".rbd.nvmeof.SubsystemNQN", "nqn.x"}}),
            "namespace of this image in subsystem 'nqn.x'");
  EXPECT_EQ(DescribeNvmeofExport({{".rbd.nvmeof.SubsystemNQN", "a\nb"},
                                  {".rbd.nvmeof.NamespaceID", "1"},
                                  {".rbd.nvmeof.GatewayAddress", "g"}}),
            "namespace 1 of subsystem 'a\\nb' at the NVMe-oF gateway 'g'");
}

}  // namespace
}  // namespace addons::testing
