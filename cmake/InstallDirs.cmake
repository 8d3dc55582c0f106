# Where things are installed; read before any target is made. Debian's own place for libraries,
# lib/<architecture>, is searched below /usr/local as below /usr. With the default prefix it is the
# place here too, so that a .deb made of such a build is right. Other prefixes get a plain lib.
if(NOT DEFINED CMAKE_INSTALL_LIBDIR AND CMAKE_INSTALL_PREFIX STREQUAL "/usr/local"
   AND CMAKE_LIBRARY_ARCHITECTURE AND EXISTS /etc/debian_version)
  set(CMAKE_INSTALL_LIBDIR lib/${CMAKE_LIBRARY_ARCHITECTURE}
      CACHE PATH "Object code libraries (below the prefix)")
endif()
include(GNUInstallDirs)
