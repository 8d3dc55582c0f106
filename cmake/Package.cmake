# `cpack` makes a tarball and, on Debian and its relatives, a .deb: one of each, with everything but
# the Python module, whose package is the wheel.
set(CPACK_PACKAGE_NAME dgrad)
set(CPACK_PACKAGE_VENDOR "The dgrad authors")
set(CPACK_PACKAGE_CONTACT "The dgrad authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION
    "TensorFlow's conv2d_backprop_input, which is also the forward pass of a
transposed convolution, for C and C++: a shared and a static library,
headers, and what CMake and pkg-config need to find them.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_RESOURCE_FILE_README ${PROJECT_SOURCE_DIR}/README.md)
set(CPACK_SYSTEM_NAME ${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# One package, not one a component. It leaves out what `cmake --install` leaves out.
set(CPACK_MONOLITHIC_INSTALL ON)
set(CPACK_GENERATOR TGZ)
find_program(DGRAD_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(DGRAD_SHLIBDEPS)
if(DGRAD_SHLIBDEPS)
  list(APPEND CPACK_GENERATOR DEB)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_NAME dgrad)
  set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)       # what it depends on, from the library itself
  set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON) # what packages of programs that use it depend on
  set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
  set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
endif()

set(CPACK_SOURCE_GENERATOR "")  # sources come from the repository
include(CPack)
