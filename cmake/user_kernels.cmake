# SPDX-License-Identifier: LGPL-2.1-or-later
# patchfem_add_weak_form(TARGET HEADER STRUCT...)
# patchfem_add_law(TARGET HEADER STRUCT...)
#
# Compiles the kernels of the weak form or the law STRUCT (such as MyForm, or MyNamespace::MyForm<3>; several may be
# given) of HEADER for the host and, where PatchFEM has CUDA, for the device, and adds them to TARGET. HEADER
# includes <patchfem/kernels/weak_forms.h> or <patchfem/kernels/laws.h> and never deal.II: nvcc sees it. It is found
# relative to the current source folder. The objects are built on their own, so that deal.II's flags and folders, which
# TARGET may carry, stay away from nvcc.
function(patchfem_add_weak_form)
  patchfem_add_kernels(weak_form ASSEMBLY assembly ${ARGV})
endfunction()

function(patchfem_add_law)
  patchfem_add_kernels(law LAW law ${ARGV})
endfunction()

# KIND is what patchfem_add_KIND() adds; PATCHFEM_INSTANTIATE_MACRO is defined by kernels/FILES_host.h and FILES.cuh.
function(patchfem_add_kernels kind macro files target header)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "patchfem_add_${kind}: ${target} is no target; call it after add_executable().")
  endif()
  get_filename_component(path ${header} ABSOLUTE)
  if(NOT EXISTS ${path})
    message(FATAL_ERROR "patchfem_add_${kind}: there is no header ${path}.")
  endif()
  if(NOT ARGN)
    message(FATAL_ERROR "patchfem_add_${kind}: name the structs after the header.")
  endif()
  # Headers of one name in different folders are different ones.
  file(RELATIVE_PATH name ${CMAKE_CURRENT_SOURCE_DIR} ${path})
  string(MAKE_C_IDENTIFIER ${name} name)
  set(objects ${target}_${name}_${kind})
  if(TARGET ${objects})
    message(FATAL_ERROR "patchfem_add_${kind}: ${header} was already added to ${target}; name all its structs in one call.")
  endif()

  # By an alias, because the comma of a struct such as MyForm<3, 2> would end the macro's argument.
  set(instances "")
  set(n 0)
  foreach(struct ${ARGN})
    math(EXPR n "${n} + 1")
    string(APPEND instances "using Struct${n} = ${struct};\nPATCHFEM_INSTANTIATE_${macro}(Struct${n});\n")
  endforeach()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${objects})
  set(sources ${source}_host.cc)
  set(kernels "<patchfem/kernels/${files}_host.h>")
  set(text "// Made by patchfem_add_@kind@().\n#include @kernels@\n\n#include \"@path@\"\n\n@instances@")
  file(CONFIGURE OUTPUT ${source}_host.cc CONTENT "${text}" @ONLY)
  if(PatchFEM_WITH_CUDA)
    list(APPEND sources ${source}_device.cu)
    set(kernels "\"${PatchFEM_CUDA_INCLUDE_DIR}/${files}.cuh\"")
    file(CONFIGURE OUTPUT ${source}_device.cu CONTENT "${text}" @ONLY)
  endif()

  # Our headers, where the calls are, are no system's: nvcc would not say there that it cannot call a function.
  add_library(${objects} OBJECT ${sources})
  set_target_properties(${objects} PROPERTIES CXX_STANDARD 17 CXX_EXTENSIONS OFF CUDA_STANDARD 17 CUDA_RUNTIME_LIBRARY Shared
                                              POSITION_INDEPENDENT_CODE ON NO_SYSTEM_FROM_IMPORTED ON)
  target_compile_options(${objects} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${PatchFEM_HOST_FLAGS}>
                                            $<$<COMPILE_LANGUAGE:CUDA>:${PatchFEM_DEVICE_FLAGS}>)
  # Headers of strategies bring their kernels.
  target_include_directories(${objects} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:${PatchFEM_CUDA_INCLUDE_DIR}>)
  target_link_libraries(${objects} PRIVATE PatchFEM::core)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
  set_target_properties(${target} PROPERTIES CUDA_RUNTIME_LIBRARY Shared LINKER_LANGUAGE CXX)
  if(PatchFEM_WITH_CUDA)
    # Kept out of the target's own list of libraries, where deal.II's macro forbids the keyword and others ask for it.
    set_property(TARGET ${target} APPEND PROPERTY LINK_LIBRARIES CUDA::cudart)
  endif()
endfunction()
