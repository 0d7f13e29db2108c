# SPDX-License-Identifier: LGPL-2.1-or-later
# Writes HEADER, if it would change, with the commit of SOURCE_DIR.
set(commit unknown)
execute_process(COMMAND git describe --always --dirty --abbrev=12 WORKING_DIRECTORY ${SOURCE_DIR} OUTPUT_VARIABLE described
                RESULT_VARIABLE result OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(DEFINED ENV{PATCHFEM_COMMIT})
  set(commit $ENV{PATCHFEM_COMMIT}) # for a copy of the tree that git does not know
elseif(result EQUAL 0)
  set(commit ${described})
endif()
set(content "#define PATCHFEM_COMMIT \"${commit}\"\n")
set(present "")
if(EXISTS ${HEADER})
  file(READ ${HEADER} present)
endif()
if(NOT present STREQUAL content)
  file(WRITE ${HEADER} "${content}")
endif()
