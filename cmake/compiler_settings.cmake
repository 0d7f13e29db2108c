# SPDX-License-Identifier: LGPL-2.1-or-later
# deal.II's deal_ii_initialize_cached_variables() empties CMake's own release flags, so every target states its own.
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY_DEFAULT ${CMAKE_BINARY_DIR})
find_program(PATCHFEM_CCACHE ccache)
if(PATCHFEM_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PATCHFEM_CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${PATCHFEM_CCACHE})
endif()

if(PATCHFEM_PORTABLE)
  set(PATCHFEM_HOST_ARCHITECTURE -march=x86-64-v3)
else()
  set(PATCHFEM_HOST_ARCHITECTURE -march=native)
endif()

# A target of ours that does not use deal.II.
function(patchfem_target target)
  target_compile_features(${target} PUBLIC cxx_std_17)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-O3 -DNDEBUG ${PATCHFEM_HOST_ARCHITECTURE} -fno-math-errno -Wall -Wextra -Wpedantic>
    $<$<COMPILE_LANGUAGE:CUDA>:-O3 -DNDEBUG -lineinfo --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra>)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PUBLIC OpenMP::OpenMP_CXX)
endfunction()

# A target of ours that uses deal.II. The macro keeps deal.II's flags; alignment of its vectorised types
# depends on them, so no -march is added here: the time is spent in patchfem_core.
function(patchfem_dealii_target target)
  deal_ii_setup_target(${target})
  target_compile_features(${target} PUBLIC cxx_std_17)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O2 -DNDEBUG -Wall -Wextra -Wno-deprecated-declarations>)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()
