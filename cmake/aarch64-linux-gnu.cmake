# Cross-compiles on Debian for 64-bit ARM, with the packages of scripts/lib/packages.txt; what is built
# runs under qemu-aarch64, in CMake's and CTest's hands too. scripts/test-emulated uses it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

# A core of ARMv8.0: an instruction that came later is an error.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -cpu cortex-a72 -L /usr/aarch64-linux-gnu)

# Highway is used as headers only, so that the package of this machine's architecture serves.
file(GLOB DGRAD_HWY_CONFIG LIST_DIRECTORIES true /usr/lib/*-linux-gnu/cmake/hwy)
if(DGRAD_HWY_CONFIG)
  list(GET DGRAD_HWY_CONFIG 0 DGRAD_HWY_CONFIG)
  set(hwy_DIR ${DGRAD_HWY_CONFIG} CACHE PATH "Highway's CMake package")
endif()
