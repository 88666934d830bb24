# What "cmake --install" puts where; the Debian packages and the image are made with it.
# Manual pages are written from what the programs say with --help. The prefix is that of the
# configuration (the presets say /usr), because the service names the program's path.

include(GNUInstallDirs)

install(TARGETS rbd-addonsd RUNTIME DESTINATION "${CMAKE_INSTALL_SBINDIR}" COMPONENT daemon)
install(TARGETS rbd-addons RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT cli)

set(manual "${PROJECT_BINARY_DIR}/man")
file(MAKE_DIRECTORY "${manual}")
function(addons_manual_page program section see_also)
  set(page "${manual}/${program}.${section}")
  add_custom_command(OUTPUT "${page}"
    COMMAND bash "${PROJECT_SOURCE_DIR}/deploy/package/manpage.sh"
      "$<TARGET_FILE:${program}>" ${program} ${section} "${see_also}" > "${page}"
    DEPENDS ${program} "${PROJECT_SOURCE_DIR}/deploy/package/manpage.sh" VERBATIM)
  add_custom_target(manual-${program} ALL DEPENDS "${page}")
endfunction()
# A sanitized program may find leaks at its end, and is not what is installed.
if(NOT ADDONS_SANITIZER)
  addons_manual_page(rbd-addonsd 8 "rbd\\-addons (1)")
  addons_manual_page(rbd-addons 1 "rbd\\-addonsd (8)")
  install(FILES "${manual}/rbd-addonsd.8" DESTINATION "${CMAKE_INSTALL_MANDIR}/man8" COMPONENT daemon)
  install(FILES "${manual}/rbd-addons.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT cli)
endif()

install(FILES deploy/package/rbd-addons.bash-completion RENAME rbd-addons
  DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT cli)
# bash-completion looks for a file of the program's name.
install(FILES deploy/package/rbd-addonsd.bash-completion RENAME rbd-addonsd
  DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT daemon)

configure_file(deploy/systemd/rbd-addonsd.service.in "${PROJECT_BINARY_DIR}/rbd-addonsd.service" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/rbd-addonsd.service" DESTINATION lib/systemd/system COMPONENT daemon)
install(FILES deploy/systemd/rbd-addons.sysusers RENAME rbd-addonsd.conf
  DESTINATION lib/sysusers.d COMPONENT daemon)
install(FILES deploy/systemd/rbd-addons.default RENAME rbd-addons
  DESTINATION "${CMAKE_INSTALL_FULL_SYSCONFDIR}/default" COMPONENT daemon)
install(FILES deploy/systemd/config.json.example
  DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples" COMPONENT daemon)
