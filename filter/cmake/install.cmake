# Where things go: headers, libraries, the plug-in and the connector, exported targets for find_package(h5stz), pkg-config files.
# Component "package" is what the Python package holds; "development" is the rest.
include(CMakePackageConfigHelpers)

file(GLOB public_headers include/*.h)
install(FILES ${public_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT package)

set(exported stz_static)
if(TARGET stz)
  list(APPEND exported stz)
endif()
install(TARGETS ${exported} EXPORT h5stzTargets DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
if(TARGET h5stz)
  install(TARGETS h5stz DESTINATION ${H5STZ_PLUGIN_DIR} COMPONENT package)
endif()
if(TARGET h5stz_read)
  set_target_properties(h5stz_read PROPERTIES EXPORT_NAME read)
  install(TARGETS h5stz_read EXPORT h5stzTargets DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT package)
endif()
if(TARGET h5stz_preload)
  install(TARGETS h5stz_preload DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT package)
endif()
if(TARGET h5stz_connector)
  install(TARGETS h5stz_connector DESTINATION ${H5STZ_CONNECTOR_DIR} COMPONENT package)
endif()

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/h5stz)
configure_package_config_file(cmake/h5stzConfig.cmake.in h5stzConfig.cmake INSTALL_DESTINATION ${config_dir}
                              PATH_VARS H5STZ_PLUGIN_DIR)
write_basic_package_version_file(h5stzConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT h5stzTargets NAMESPACE h5stz:: DESTINATION ${config_dir} COMPONENT development)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/h5stzConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/h5stzConfigVersion.cmake DESTINATION ${config_dir}
        COMPONENT development)

# pkg-config files find the rest from where they are: the whole prefix may be moved.
file(RELATIVE_PATH relative_includedir ${CMAKE_INSTALL_FULL_LIBDIR} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
if(NOT TARGET stz)
  set(stz_static_libs " -lstdc++ -lm -pthread") # -lstz is then the archive
endif()
if(H5STZ_PKGCONFIG_RPATH)
  set(rpath "-Wl,-rpath,\${libdir} ")
endif()
list(JOIN static_hdf5 " " static_hdf5)
configure_file(api/stz.pc.in stz.pc @ONLY)
configure_file(region/h5stz.pc.in h5stz.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/stz.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
if(TARGET h5stz_read)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/h5stz.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT package)
endif()
