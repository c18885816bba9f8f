# cmake --install BUILD --prefix DIR: programs, recipes, and the libraries with their headers, which
# another project finds by find_package(skep). The tree can be moved: nothing in it names its place.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(programs train generate evaluate tokenize inspect bench)
set(libraries engine mpi_comm model trainer)
file(RELATIVE_PATH libraries_from_programs /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})

foreach(target ${programs})
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/${libraries_from_programs}")
endforeach()
foreach(target ${libraries})
  # libengine.so would be too common a name in a folder shared with others.
  set_target_properties(${target} PROPERTIES OUTPUT_NAME skep_${target} INSTALL_RPATH "$ORIGIN"
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endforeach()
# An MPI or oneDNN outside the system's folders is still found at run time.
set_target_properties(${programs} ${libraries} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
set_target_properties(skep_flags PROPERTIES EXPORT_NAME flags)

install(TARGETS ${programs})
install(TARGETS ${libraries} skep_flags EXPORT skepTargets)
install(DIRECTORY engine mpi_comm model train DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/skep
        FILES_MATCHING PATTERN "*.h" PATTERN presets EXCLUDE)
install(DIRECTORY train/presets DESTINATION ${CMAKE_INSTALL_DATADIR}/skep)
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/skep)
install(EXPORT skepTargets NAMESPACE skep:: DESTINATION ${package_folder})
configure_package_config_file(cmake/skepConfig.cmake.in ${CMAKE_BINARY_DIR}/skepConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/skepConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/skepConfig.cmake ${CMAKE_BINARY_DIR}/skepConfigVersion.cmake
        DESTINATION ${package_folder})
