// The groups of checks, in the order in which shim_test.cpp runs them.
#pragma once

// Need no device.
void check_abi();
// Gives the host library two devices, so it runs before the first use of a device.
void check_topology();
void check_module_images();

// Need device 0.
void check_devices();
void check_handles();
void check_memory();
void check_virtual_memory();
void check_virtual_failures();
void check_declared_blocks();
void check_pressure();
void check_copies();
void check_foreign_memory();
void check_pitched_copies();
void check_pinned();
void check_files();
void check_streams_and_events();
void check_launches();
void check_modules();
void check_module_launches();
void check_injection();

// Need devices 0 and 1.
void check_two_devices();
void check_virtual_peers();
void check_modules_of_two_devices();
void check_faults();
