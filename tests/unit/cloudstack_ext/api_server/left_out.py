"""Recorded pairs that are not compared, each with the reason."""

SIMULATOR = "a host or an instance of the simulator, which is not kept here"
GPU = "an offering with a vGPU profile: GPU records are not kept"
LEFT_OUT = {
    "cancelHostMaintenance_simulator": SIMULATOR,
    "prepareHostForMaintenance_simulator_with_gpu_vm": SIMULATOR,
    "updateHost_hosttags_simulator": SIMULATOR,
    "updateHost_hosttags_removed": SIMULATOR,
    "listHosts_Simulator_gpu_used": SIMULATOR,
    "listHosts_Simulator_with_gpus": SIMULATOR,
    "listVirtualMachines_with_gpu": SIMULATOR,
    "listVirtualMachines_with_gpu_as_user": SIMULATOR,
    "deployVirtualMachine_gpu_tagged": SIMULATOR,
    "deployVirtualMachine_simulator_gpu_passthrough": SIMULATOR,
    "deployVirtualMachine_vgpu": SIMULATOR,
    "deployVirtualMachine_gpu_none_left": SIMULATOR,
    "destroyVirtualMachine_with_gpu_expunge": SIMULATOR,
    "startVirtualMachine_with_gpu": SIMULATOR,
    "startstop_vm_of_deleted_offering": SIMULATOR,
    "stopVirtualMachine_with_gpu": SIMULATOR,
    "createServiceOffering_gpu_count_larger_than_any_host": GPU,
    "createServiceOffering_gpu_passthrough_x1": GPU,
    "createServiceOffering_gpu_passthrough_x2": GPU,
    "createServiceOffering_gpu_vgpu": GPU,
    "createServiceOffering_gpu_vgpu_unused_profile": GPU,
    "createServiceOffering_gpu_vgpuprofile": GPU,
    "deployVirtualMachine_vgpuprofile_no_device_left": GPU,
    "deployVirtualMachine_vgpuprofile_offering_on_External": GPU,
    "destroyVirtualMachine_expunge_vgpuprofile_vm": GPU,
    "listServiceOfferings_as_root": "the unauthenticated port, which is not served",
    "error_432_unknown_command_integration_port": "the unauthenticated port, which is not served",
    "listAccounts": "shows the accounts that came with the installation",
}
