# What `cmake --install` and `cpack` take: libraries, headers, files for CMake and pkg-config,
# documents. No installed file holds an absolute path, so an installed tree may be moved.
#
# Components: runtime (the shared library), development (the rest), and what other folders add
# (python, which is left out unless asked for: only the wheel takes it).
include(CMakePackageConfigHelpers)
set(DGRAD_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/dgrad)

# ---- Libraries and headers ----

install(TARGETS dgrad EXPORT dgrad-shared
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        COMPONENT runtime NAMELINK_COMPONENT development)
if(DGRAD_BUILD_STATIC)
  install(TARGETS dgrad_static EXPORT dgrad-static
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
endif()
install(FILES include/dgrad/dgrad.h include/dgrad/dgrad.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dgrad COMPONENT development)

# ---- find_package(dgrad) ----

# The library that C programs need beside the static one: stdc++ or c++.
set(DGRAD_CXX_RUNTIME ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(FILTER DGRAD_CXX_RUNTIME INCLUDE REGEX "^(std)?c\\+\\+$")
list(REMOVE_DUPLICATES DGRAD_CXX_RUNTIME)

# One file of targets a component.
foreach(component shared static cli)
  if(component STREQUAL "shared" OR (component STREQUAL "static" AND DGRAD_BUILD_STATIC) OR
     (component STREQUAL "cli" AND DGRAD_BUILD_CLI))
    install(EXPORT dgrad-${component} NAMESPACE dgrad::
            DESTINATION ${DGRAD_CMAKE_DIR} COMPONENT development)
  endif()
endforeach()
configure_package_config_file(
  cmake/dgradConfig.cmake.in ${PROJECT_BINARY_DIR}/cmake/dgradConfig.cmake
  INSTALL_DESTINATION ${DGRAD_CMAKE_DIR}
  NO_SET_AND_CHECK_MACRO)
# Until 1.0 a minor version may change what programs are compiled against.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
else()
  set(compatibility SameMajorVersion)
endif()
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/dgradConfigVersion.cmake
                                 COMPATIBILITY ${compatibility})
install(FILES ${PROJECT_BINARY_DIR}/cmake/dgradConfig.cmake
              ${PROJECT_BINARY_DIR}/cmake/dgradConfigVersion.cmake
        DESTINATION ${DGRAD_CMAKE_DIR} COMPONENT development)

# ---- pkg-config ----

if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(DGRAD_PC_PREFIX ${CMAKE_INSTALL_PREFIX})  # the user's wish: such a tree can't be moved
  set(DGRAD_PC_LIBDIR ${CMAKE_INSTALL_FULL_LIBDIR})
  set(DGRAD_PC_INCLUDEDIR ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
  file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" up "${up}")
  set(DGRAD_PC_PREFIX "\${pcfiledir}/${up}")
  set(DGRAD_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(DGRAD_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
list(TRANSFORM DGRAD_CXX_RUNTIME PREPEND "-l" OUTPUT_VARIABLE DGRAD_PC_PRIVATE)
list(JOIN DGRAD_PC_PRIVATE " " DGRAD_PC_PRIVATE)
configure_file(cmake/dgrad.pc.in ${PROJECT_BINARY_DIR}/cmake/dgrad.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/dgrad.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# ---- Documents ----

install(FILES LICENSE RENAME copyright
        DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
install(FILES docs/install.md docs/semantics.md docs/usage.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT development)
install(FILES examples/one_shot.c examples/one_shot.cc examples/plan.cc examples/decoder.cc
        DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT development)

include(${CMAKE_CURRENT_LIST_DIR}/Package.cmake)
