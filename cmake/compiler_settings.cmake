# SPDX-License-Identifier: LGPL-2.1-or-later
# deal.II's deal_ii_initialize_cached_variables() empties CMake's own release flags, so every target states its own.
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# ccache, where there is one, so that clean builds of unchanged files cost nothing. It re-uses files that include a
# precompiled header only when told to (the ccache manual, "Precompiled headers").
find_program(PATCHFEM_CCACHE ccache)
if(PATCHFEM_CCACHE)
  set(patchfem_launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${PATCHFEM_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${patchfem_launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${patchfem_launcher})
endif()

if(PATCHFEM_PORTABLE)
  set(PATCHFEM_HOST_ARCHITECTURE -march=x86-64-v3)
else()
  set(PATCHFEM_HOST_ARCHITECTURE -march=native)
endif()

if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(PATCHFEM_CXX_FLAGS -O0 -g)
  set(PATCHFEM_DEALII_FLAGS "")
  set(PATCHFEM_CUDA_FLAGS -O0 -g)
else()
  set(PATCHFEM_CXX_FLAGS -O3 -DNDEBUG)
  # deal.II's own flags follow Debian's and ask for debug information, half of the compile time and of the disk.
  set(PATCHFEM_DEALII_FLAGS -O2 -DNDEBUG -g0)
  set(PATCHFEM_CUDA_FLAGS -O3 -DNDEBUG -lineinfo)
endif()
# A function of a kernel, or of a user's form or law, that is for the host alone is an error, not a wrong result.
list(APPEND PATCHFEM_CUDA_FLAGS --expt-relaxed-constexpr --Werror=cross-execution-space-call)
# deal.II's flags hold -fPIC (9.4), nothing (Debian's 9.6, whose compiler then makes -fPIE), or -fPIE; the last one counts.
if(NOT "${DEAL_II_CXX_FLAGS}" MATCHES "-fPIC" OR "${DEAL_II_CXX_FLAGS}" MATCHES "-f(pie|PIE)")
  list(APPEND PATCHFEM_DEALII_FLAGS -fPIC)
endif()

function(patchfem_include_directories target)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  # Bodies of kernels and other headers that only the sources and tests of the library see.
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/source)
endfunction()

# A target of ours that does not use deal.II. No keyword in target_link_libraries(): deal.II's macro uses none,
# and CMake forbids to mix the two on one target.
function(patchfem_target target)
  target_compile_features(${target} PUBLIC cxx_std_17)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF CUDA_STANDARD 17 CUDA_RUNTIME_LIBRARY Shared)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:${PATCHFEM_CXX_FLAGS} ${PATCHFEM_HOST_ARCHITECTURE} -fno-math-errno -Wall -Wextra -Wpedantic>
    $<$<COMPILE_LANGUAGE:CUDA>:${PATCHFEM_CUDA_FLAGS} -Xcompiler=-Wall,-Wextra>)
  patchfem_include_directories(${target})
  target_link_libraries(${target} PUBLIC OpenMP::OpenMP_CXX)
endfunction()

# A target of ours that uses deal.II. The macro keeps deal.II's flags; alignment of its vectorised types depends on
# them, so no -march is added here: the time is spent in patchfem_core. All such targets share one precompiled
# header, for which GCC wants equal flags and macros: hence -fPIC in programs too and no macro that marks a shared
# library.
function(patchfem_dealii_target target)
  deal_ii_setup_target(${target})
  target_compile_features(${target} PUBLIC cxx_std_17)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF DEFINE_SYMBOL "" POSITION_INDEPENDENT_CODE OFF
                                             CUDA_RUNTIME_LIBRARY Shared)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:${PATCHFEM_DEALII_FLAGS} -Wall -Wextra -Wno-deprecated-declarations>)
  patchfem_include_directories(${target})
  target_link_libraries(${target} OpenMP::OpenMP_CXX)
  if(NOT target STREQUAL patchfem_dealii_headers)
    target_precompile_headers(${target} REUSE_FROM patchfem_dealii_headers)
  endif()
endfunction()
