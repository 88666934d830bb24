# What "cmake --install" puts where; the Debian packages and the image are made with it.
# Manual pages are written from what the programs say with --help. The prefix is that of the
# configuration (the presets say /usr), because the service names the program's path.

include(GNUInstallDirs)

install(TARGETS rbd-addonsd RUNTIME DESTINATION "${CMAKE_INSTALL_SBINDIR}" COMPONENT daemon)
install(TARGETS rbd-addons RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT cli)
# kubectl finds it by its name.
install(PROGRAMS deploy/kubectl/kubectl-rbd_addons DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT cli)
install(FILES deploy/kubectl/kubectl-rbd_addons.1 DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT cli)

set(manual "${PROJECT_BINARY_DIR}/man")
set(completion "${PROJECT_BINARY_DIR}/completion")
file(MAKE_DIRECTORY "${manual}" "${completion}")
add_custom_command(OUTPUT "${manual}/rbd-addonsd.8"
  COMMAND bash "${PROJECT_SOURCE_DIR}/deploy/package/manpage.sh" "$<TARGET_FILE:rbd-addonsd>"
    > "${manual}/rbd-addonsd.8"
  DEPENDS rbd-addonsd "${PROJECT_SOURCE_DIR}/deploy/package/manpage.sh" VERBATIM)
# The command line writes its own page and completions.
function(addons_printed file)
  add_custom_command(OUTPUT "${file}" COMMAND "$<TARGET_FILE:rbd-addons>" ${ARGN} > "${file}"
    DEPENDS rbd-addons VERBATIM)
endfunction()
addons_printed("${manual}/rbd-addons.1" manual)
foreach(shell IN ITEMS bash zsh fish)
  addons_printed("${completion}/${shell}" completion ${shell})
  list(APPEND completions "${completion}/${shell}")
endforeach()
# A sanitized program may find leaks at its end, and is not what is installed.
if(NOT ADDONS_SANITIZER)
  add_custom_target(manual-rbd-addonsd ALL DEPENDS "${manual}/rbd-addonsd.8")
  add_custom_target(manual-rbd-addons ALL DEPENDS "${manual}/rbd-addons.1" ${completions})
  install(FILES "${manual}/rbd-addonsd.8" DESTINATION "${CMAKE_INSTALL_MANDIR}/man8" COMPONENT daemon)
  install(FILES "${manual}/rbd-addons.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT cli)
  # Each shell looks for a file of this name.
  install(FILES "${completion}/bash" RENAME rbd-addons
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT cli)
  install(FILES "${completion}/zsh" RENAME _rbd-addons
    DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions" COMPONENT cli)
  install(FILES "${completion}/fish" RENAME rbd-addons.fish
    DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" COMPONENT cli)
endif()

# bash-completion looks for a file of the program's name.
install(FILES deploy/package/rbd-addonsd.bash-completion RENAME rbd-addonsd
  DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT daemon)

configure_file(deploy/systemd/rbd-addonsd.service.in "${PROJECT_BINARY_DIR}/rbd-addonsd.service" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/rbd-addonsd.service" DESTINATION lib/systemd/system COMPONENT daemon)
install(FILES deploy/systemd/rbd-addons.sysusers RENAME rbd-addonsd.conf
  DESTINATION lib/sysusers.d COMPONENT daemon)
install(FILES deploy/systemd/rbd-addons.default RENAME rbd-addons
  DESTINATION "${CMAKE_INSTALL_FULL_SYSCONFDIR}/default" COMPONENT daemon)
install(DIRECTORY DESTINATION "${CMAKE_INSTALL_FULL_SYSCONFDIR}/rbd-addons" COMPONENT daemon)
# For hosts that have no checkout: the Ceph user, what Prometheus and Grafana take, and the pages.
install(PROGRAMS deploy/ceph/create-user.sh DESTINATION "${CMAKE_INSTALL_DATADIR}/rbd-addons" COMPONENT daemon)
install(FILES deploy/helm/rbd-addons/files/rules.yaml deploy/helm/rbd-addons/files/dashboard.json
  DESTINATION "${CMAKE_INSTALL_DATADIR}/rbd-addons" COMPONENT daemon)
install(DIRECTORY docs DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT daemon PATTERN adr EXCLUDE)
install(FILES deploy/systemd/config.json.example
  DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples" COMPONENT daemon)
