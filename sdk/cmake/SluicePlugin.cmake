# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors

# sluice_add_plugin(NAME SOURCES stage.cpp... [KERNELS kernel.cpp...] [LIBRARIES target...])
#
# Builds the plugin NAME as a loadable module. KERNELS are the plain functions behind the stage: they become the static library
# NAME_kernels, so that a unit test or a benchmark links them without any runtime. LIBRARIES are linked to both.
function(sluice_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 plugin "" "" "SOURCES;KERNELS;LIBRARIES")
  if(plugin_UNPARSED_ARGUMENTS OR NOT plugin_SOURCES)
    message(FATAL_ERROR "sluice_add_plugin(${name}): SOURCES is required; unknown arguments: '${plugin_UNPARSED_ARGUMENTS}'")
  endif()
  if(TARGET sluice_options)
    set(options sluice_options)
  endif()
  if(plugin_KERNELS)
    add_library(${name}_kernels STATIC ${plugin_KERNELS})
    target_link_libraries(${name}_kernels PUBLIC sluice::sdk ${plugin_LIBRARIES} PRIVATE ${options})
    target_include_directories(${name}_kernels PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/..)
    set_target_properties(${name}_kernels PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(${name}_kernels PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:-ffp-contract=off>)
    set(kernels ${name}_kernels)
  endif()
  add_library(${name} MODULE ${plugin_SOURCES})
  target_link_libraries(${name} PRIVATE sluice::sdk ${kernels} ${plugin_LIBRARIES} ${options})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/..)
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:-ffp-contract=off>)
  target_compile_definitions(${name} PRIVATE SLUICE_BUILD_ID="${PROJECT_VERSION}-${CMAKE_CXX_COMPILER_ID}-${CMAKE_CXX_COMPILER_VERSION}")
  set_target_properties(${name} PROPERTIES PREFIX "" C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(TARGET sluice_options)  # in this tree: beside the program, and installed with it
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/plugins)
    install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/sluice/plugins)
  endif()
endfunction()
