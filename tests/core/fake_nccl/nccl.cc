// SPDX-License-Identifier: LGPL-2.1-or-later
// Stands for libnccl.so.2 in tests of what is done where that is not what it should be.
#ifdef FAKE_NCCL_VERSION
extern "C" int ncclGetVersion(int *version)
{
  *version = FAKE_NCCL_VERSION;
  return 0;
}
#endif
