#!/bin/sh
# Rackwright host bundle 1: reads what a GPU host says of itself and prints it as one tar.gz.
# It writes into one folder of its own below /tmp, which it removes; it changes nothing else.
#   rackwright host bundle-command | ssh root@HOST sh > HOST.tar.gz
set -u
LC_ALL=C PATH="${PATH:-/usr/bin:/bin}:/usr/sbin:/sbin:/usr/local/sbin:/usr/local/bin"
export LC_ALL PATH
umask 077
to=$(mktemp -d) || exit 1
trap 'rm -rf "$to"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$to/files" "$to/links" "$to/commands" || exit 1
printf 'rackwright-host-bundle 1\ntaken_at %s\nuid %s\n' "$(date +%s)" "$(id -u)" >"$to/bundle"

# NAME COMMAND...: its output, what it complains of, and its status, each within 15 s
run() {
  name=$to/commands/$1
  shift
  if ! command -v "$1" >/dev/null 2>&1; then
    echo missing >"$name.status"
    return
  fi
  timeout 15 "$@" >"$name" 2>"$name.errors"
  echo $? >"$name.status"
}

# NAME FILES...: those that are there, each behind a line with its path
files() {
  name=$to/files/$1
  shift
  head -v -c 1048576 "$@" >"$name" 2>/dev/null
}

collect() {
  # --- the kernel's description of the hardware
  cd /sys/bus/pci/devices || exit 1
  find /sys/bus/pci/devices/*/ -maxdepth 1 -type f \( \
    -name vendor -o -name device -o -name class -o -name revision -o -name 'subsystem_*' \
    -o -name driver_override -o -name reset_method -o -name resource -o -name '*_link_speed' \
    -o -name '*_link_width' -o -name numa_node -o -name 'sriov_*vfs' -o -name boot_vga \
    -o -name power_state -o -name d3cold_allowed -o -name 'aer_dev_*' -o -name mem_info_vram_total \
    -o -name vbios_version -o -name serial_number -o -name 'current_*_partition' \) -print0 \
    | xargs -0 -r head -v -c 65536 >"$to/files/pci" 2>/dev/null
  find /sys/bus/pci/devices/*/mdev_supported_types /sys/bus/pci/devices/*/nvidia -maxdepth 2 -type f \
    \( -name name -o -name available_instances -o -name description -o -name '*_vgpu_type*' \) \
    -print0 2>/dev/null | xargs -0 -r head -v -c 65536 >"$to/files/vgpu" 2>/dev/null
  find /sys/bus/pci/devices -maxdepth 1 -type l -printf '%p -> %l\n' >"$to/links/devices"
  find /sys/bus/pci/devices/*/ -maxdepth 1 -type l \
    \( -name driver -o -name iommu_group -o -name physfn \) -printf '%p -> %l\n' \
    >"$to/links/pci" 2>/dev/null
  find /sys/class/iommu /sys/class/graphics -maxdepth 2 -type l -printf '%p -> %l\n' \
    >"$to/links/class" 2>/dev/null
  find /sys/class/graphics/*/ -maxdepth 1 -type l -name device -printf '%p -> %l\n' \
    >"$to/links/graphics" 2>/dev/null
  files slots /sys/bus/pci/slots/*/address
  files groups /sys/kernel/iommu_groups/*/reserved_regions /sys/kernel/iommu_groups/*/type
  files graphics /sys/class/graphics/fb*/name
  files nodes /sys/devices/system/node/node*/meminfo /sys/devices/system/node/node*/cpulist \
    /sys/devices/system/node/node*/distance \
    /sys/devices/system/node/node*/hugepages/hugepages-*kB/nr_hugepages \
    /sys/devices/system/node/node*/hugepages/hugepages-*kB/free_hugepages
  files dmi /sys/class/dmi/id/product_uuid /sys/class/dmi/id/product_serial \
    /sys/class/dmi/id/product_name /sys/class/dmi/id/sys_vendor /sys/class/dmi/id/bios_vendor \
    /sys/class/dmi/id/bios_version /sys/class/dmi/id/bios_date /sys/class/dmi/id/board_vendor \
    /sys/class/dmi/id/board_name /sys/class/dmi/id/board_version
  files bmc /sys/devices/platform/ipmi_bmc.*/firmware_revision
  files firmware /sys/firmware/efi/fw_platform_size /sys/power/state \
    /sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts
  run acpi-tables ls /sys/firmware/acpi/tables
  run efi-variables sh -c 'cd /sys/firmware/efi/efivars && for each in SecureBoot-* LoaderInfo-* \
    LoaderEntrySelected-*; do echo "== $each"; od -An -v -tx1 "$each"; done 2>/dev/null'

  # --- the kernel and the system
  files kernel /proc/cmdline /proc/cpuinfo /proc/meminfo /proc/iomem /proc/modules \
    /proc/sys/kernel/osrelease /proc/sys/kernel/random/boot_id /proc/sys/kernel/arch \
    /proc/driver/nvidia/version "/lib/modules/$(uname -r)/modules.builtin"
  files system /etc/os-release /etc/kernel/cmdline /boot/grub/grubenv /boot/grub2/grubenv
  files entries /boot/loader/entries/*.conf /boot/efi/loader/entries/*.conf /efi/loader/entries/*.conf \
    /boot/loader/loader.conf /boot/efi/loader/loader.conf /efi/loader/loader.conf
  # of grub.cfg only this: it may carry the hash of a password
  run grub-entries sh -c 'grep -hE "^[[:space:]]*(menuentry|submenu|linux|linuxefi|initrd|set default)" \
    /boot/grub/grub.cfg /boot/grub2/grub.cfg 2>/dev/null'
  run lspci lspci -Dvvvnn
  run uname uname -m
  run kernel-log sh -c 'dmesg | grep -iE "iommu|dmar|amd-vi|vfio|pcie? |bar [0-9]|sr-iov|nvrm|i915|amdgpu|\
   xe |nouveau|mdev|acs |gim|hugepage|secure boot|lockdown|unknown parameter|fabric" | tail -n 5000'
  run fabric-manager journalctl -b -u nvidia-fabricmanager --no-pager -n 200 -o cat
  run secure-boot mokutil --sb-state
  run tools sh -c 'for each in lspci virsh xmlstarlet nvidia-smi amd-smi xpu-smi ipmitool mokutil \
    update-initramfs mkinitramfs dracut mkinitcpio update-grub grub-mkconfig grub2-mkconfig grubby \
    grub-reboot grub2-reboot bootctl kernel-install efibootmgr mdevctl driverctl dmidecode; do
    found=$(command -v "$each" 2>/dev/null) && echo "$each $found"; done'
  run services systemctl show --no-pager -p Id,LoadState,ActiveState,UnitFileState \
    cloudstack-agent.service libvirtd.service virtqemud.service nvidia-persistenced.service \
    nvidia-fabricmanager.service nvidia-vgpu-mgr.service dcgm.service unattended-upgrades.service
  run packages sh -c 'dpkg-query -W -f "\${Package} \${Version}\n" cloudstack-agent cloudstack-common \
    libvirt-daemon qemu-system-x86 qemu-system-arm pci.ids hwdata xmlstarlet 2>/dev/null \
    || rpm -q --qf "%{NAME} %{VERSION}-%{RELEASE}\n" cloudstack-agent cloudstack-common \
    libvirt-daemon qemu-kvm hwdata xmlstarlet 2>/dev/null | grep -v "not installed"'

  # --- who uses what: libvirt, CloudStack's agent, the vendors' tools
  run virsh-list virsh -r list --all
  run virsh-domains sh -c 'asked=$(virsh -r list --all --uuid | sed "/^$/d;s/^/dumpxml /" | tr "\n" ";") \
    && { [ -z "$asked" ] || virsh -r "$asked"; }'
  # keys of agent.properties that say how guests are made; it carries passwords too
  run agent-properties sh -c 'grep -E "^(guest\.cpu\.(mode|model|features)|host\.reserved\.mem\.mb|\
  host\.tags|vm\.memballoon\.disable|hypervisor\.type|zone|pod|cluster|guest\.nvram\.[a-z.]*|\
  guest\.loader\.[a-z.]*|agent\.hooks\.[a-z_.]*)=" /etc/cloudstack/agent/agent.properties'
  files agent /etc/cloudstack/agent/uefi.properties
  script=/usr/share/cloudstack-common/scripts/vm/hypervisor/kvm/gpudiscovery.sh
  run discovery-script sh -c "sha256sum $script && grep -nE 'controller|accelerators' $script"
  fields=index,pci.bus_id,name,serial,uuid,memory.total,vbios_version,mig.mode.current,\
mig.mode.pending,driver_version
  run nvidia-smi nvidia-smi --query-gpu=$fields,gpu_recovery_action --format=csv
  # a driver that does not know one field answers none
  if [ "$(cat "$to/commands/nvidia-smi.status")" = 2 ]; then
    run nvidia-smi nvidia-smi --query-gpu=$fields --format=csv
  fi
  run nvidia-mig nvidia-smi mig -lgi
  run nvidia-nvlink nvidia-smi nvlink -s
  find "$to" -type f -size 0 -exec rm -f {} +
  tar -C "$to" -czf - .
}

# as a function it is read whole before it begins, also where the shell reads it from a pipe
collect </dev/null
