# SPDX-License-Identifier: LGPL-2.1-or-later
# Installation, and the package that find_package(PatchFEM) finds, installed or in the build tree; see doc/package.md for how to
# use it.
include(CMakePackageConfigHelpers)
set(patchfem_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/PatchFEM)

set_target_properties(patchfem_core PROPERTIES EXPORT_NAME core)
set(patchfem_installed patchfem_core)
install(TARGETS patchfem_core EXPORT PatchFEMCoreTargets DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT PatchFEMCoreTargets NAMESPACE PatchFEM:: DESTINATION ${patchfem_package_dir})
export(EXPORT PatchFEMCoreTargets NAMESPACE PatchFEM::)
if(TARGET patchfem)
  set_target_properties(patchfem_mpi PROPERTIES EXPORT_NAME mpi)
  list(APPEND patchfem_installed patchfem_mpi patchfem)
  install(TARGETS patchfem_mpi patchfem EXPORT PatchFEMTargets DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT PatchFEMTargets NAMESPACE PatchFEM:: DESTINATION ${patchfem_package_dir})
  export(EXPORT PatchFEMTargets NAMESPACE PatchFEM::)
endif()
# The libraries find each other beside them, and CUDA's runtime where it was found when they were built.
set_target_properties(${patchfem_installed} PROPERTIES INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)

install(DIRECTORY include/patchfem DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/include/patchfem/base/config.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/patchfem/base)
# A user's weak form or law is compiled for the device from these.
install(DIRECTORY cuda/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/patchfem/cuda FILES_MATCHING PATTERN "*.cuh"
        REGEX "(product|unique_rows)\\.cuh$" EXCLUDE)

set(PATCHFEM_HAS_DEALII_LAYER OFF)
if(TARGET patchfem)
  set(PATCHFEM_HAS_DEALII_LAYER ON)
endif()
# Where a user's weak form finds kernels and templates is what the two differ in.
function(patchfem_write_config file prefix folder cuda_dir cmake_dir)
  configure_package_config_file(cmake/PatchFEMConfig.cmake.in ${file} INSTALL_PREFIX ${prefix} INSTALL_DESTINATION ${folder}
                                PATH_VARS cuda_dir cmake_dir)
endfunction()
set(tree ${CMAKE_CURRENT_BINARY_DIR})
patchfem_write_config(${tree}/PatchFEMConfig.cmake ${tree} ${tree} ${PROJECT_SOURCE_DIR}/cuda ${PROJECT_SOURCE_DIR}/cmake)
patchfem_write_config(${tree}/package/PatchFEMConfig.cmake ${CMAKE_INSTALL_PREFIX} ${patchfem_package_dir}
                      ${CMAKE_INSTALL_INCLUDEDIR}/patchfem/cuda ${patchfem_package_dir})
write_basic_package_version_file(${tree}/PatchFEMConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${tree}/package/PatchFEMConfig.cmake ${tree}/PatchFEMConfigVersion.cmake
              cmake/user_kernels.cmake
        DESTINATION ${patchfem_package_dir})
