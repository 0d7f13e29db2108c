# SPDX-License-Identifier: LGPL-2.1-or-later
# patchfem_add_weak_form(TARGET HEADER STRUCT...)
#
# Compiles the assembly kernels of the weak form STRUCT (such as MyForm, or MyNamespace::MyForm<3>; several may be
# given) of HEADER for the host and, where PatchFEM has CUDA, for the device, and adds them to TARGET. HEADER
# includes <patchfem/kernels/weak_forms.h> and never deal.II: nvcc sees it. It is found relative to the
# current source folder. The objects are built on their own, so that deal.II's flags and folders, which TARGET
# may carry, stay away from nvcc.
set(PATCHFEM_WEAK_FORM_TEMPLATES ${CMAKE_CURRENT_LIST_DIR})

function(patchfem_add_weak_form target header)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "patchfem_add_weak_form: ${target} is no target; call it after add_executable().")
  endif()
  get_filename_component(PATCHFEM_WEAK_FORM_HEADER ${header} ABSOLUTE)
  if(NOT EXISTS ${PATCHFEM_WEAK_FORM_HEADER})
    message(FATAL_ERROR "patchfem_add_weak_form: there is no header ${PATCHFEM_WEAK_FORM_HEADER}.")
  endif()
  if(NOT ARGN)
    message(FATAL_ERROR "patchfem_add_weak_form: name the weak form's struct after the header.")
  endif()

  # By an alias, because the comma of a struct such as MyForm<3, 2> would end the macro's argument.
  set(n 0)
  foreach(struct ${ARGN})
    math(EXPR n "${n} + 1")
    string(APPEND PATCHFEM_WEAK_FORMS "using WeakForm${n} = ${struct};\nPATCHFEM_INSTANTIATE_ASSEMBLY(WeakForm${n});\n")
  endforeach()
  get_filename_component(stem ${header} NAME_WE)
  set(objects ${target}_${stem}_weak_form)
  if(TARGET ${objects})
    message(FATAL_ERROR "patchfem_add_weak_form: ${header} was already added to ${target}; name all its structs in one call.")
  endif()
  set(sources ${CMAKE_CURRENT_BINARY_DIR}/${objects}_host.cc)
  configure_file(${PATCHFEM_WEAK_FORM_TEMPLATES}/weak_form.cc.in ${sources} @ONLY)
  if(PatchFEM_WITH_CUDA)
    list(APPEND sources ${CMAKE_CURRENT_BINARY_DIR}/${objects}_device.cu)
    configure_file(${PATCHFEM_WEAK_FORM_TEMPLATES}/weak_form.cu.in ${CMAKE_CURRENT_BINARY_DIR}/${objects}_device.cu @ONLY)
  endif()

  add_library(${objects} OBJECT ${sources})
  set_target_properties(${objects} PROPERTIES CXX_STANDARD 17 CXX_EXTENSIONS OFF CUDA_STANDARD 17 CUDA_RUNTIME_LIBRARY Shared
                                              POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${objects} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${PatchFEM_HOST_FLAGS}>
                                            $<$<COMPILE_LANGUAGE:CUDA>:${PatchFEM_DEVICE_FLAGS}>)
  target_link_libraries(${objects} PRIVATE PatchFEM::core)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
  set_target_properties(${target} PROPERTIES CUDA_RUNTIME_LIBRARY Shared LINKER_LANGUAGE CXX)
  if(PatchFEM_WITH_CUDA)
    # Kept out of the target's own list of libraries, where deal.II's macro forbids the keyword and others ask for it.
    set_property(TARGET ${target} APPEND PROPERTY LINK_LIBRARIES CUDA::cudart)
  endif()
endfunction()
