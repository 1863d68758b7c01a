#!/bin/sh
# Rackwright host bundle 1: reads what a GPU host says of itself and prints it as one tar.gz.
# It writes into one folder of its own below /tmp, which it removes; it changes nothing else.
#   rackwright host bundle-command | ssh root@HOST sh > HOST.tar.gz
# Few processes: on a slow host each costs more than what it reads.
set -u
LC_ALL=C PATH="${PATH:-/usr/bin:/bin}:/usr/sbin:/sbin:/usr/local/sbin:/usr/local/bin"
export LC_ALL PATH
umask 077
to=$(mktemp -d) || exit 1
trap 'rm -rf "$to"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$to/files" "$to/links" "$to/commands" || exit 1
printf 'rackwright-host-bundle 1\ntaken_at %s\nuid %s\n' "$(date +%s)" "$(id -u)" >"$to/bundle"

# NAME COMMAND...: its output, what it complains of, and its status, within 15 s
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

collect() {
  # --- the kernel's description of the hardware
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
  find /sys/bus/pci/devices/ /sys/bus/pci/devices/*/ /sys/class/iommu/ /sys/class/graphics/ \
    /sys/class/graphics/*/ -maxdepth 1 -type l \( -path '/sys/bus/pci/devices/*.[0-7]' \
    -o -name driver -o -name iommu_group -o -name physfn -o -name device \
    -o -path '/sys/class/iommu/*' -o -path '/sys/class/graphics/fb*' \) -printf '%p -> %l\n' \
    >"$to/links/sys" 2>/dev/null
  ls /sys/firmware/acpi/tables >"$to/commands/acpi-tables" 2>/dev/null \
    || echo $? >"$to/commands/acpi-tables.status"
  if [ -d /sys/firmware/efi/efivars ]; then
    (cd /sys/firmware/efi/efivars && for each in SecureBoot-* LoaderInfo-* LoaderEntrySelected-*; do
      [ -r "$each" ] && echo "== $each" && od -An -v -tx1 "$each"
    done) >"$to/commands/efi-variables" 2>/dev/null
  fi

  # --- small files of the kernel, the firmware and the system; those that are there
  head -v -c 1048576 /sys/bus/pci/slots/*/address \
    /sys/kernel/iommu_groups/*/reserved_regions /sys/kernel/iommu_groups/*/type \
    /sys/class/graphics/fb*/name /sys/devices/system/node/node*/meminfo \
    /sys/devices/system/node/node*/cpulist /sys/devices/system/node/node*/distance \
    /sys/devices/system/node/node*/hugepages/hugepages-*kB/nr_hugepages \
    /sys/devices/system/node/node*/hugepages/hugepages-*kB/free_hugepages \
    /sys/class/dmi/id/product_uuid /sys/class/dmi/id/product_serial \
    /sys/class/dmi/id/product_name /sys/class/dmi/id/sys_vendor /sys/class/dmi/id/bios_vendor \
    /sys/class/dmi/id/bios_version /sys/class/dmi/id/bios_date /sys/class/dmi/id/board_vendor \
    /sys/class/dmi/id/board_name /sys/class/dmi/id/board_version \
    /sys/devices/platform/ipmi_bmc.*/firmware_revision /sys/firmware/efi/fw_platform_size \
    /sys/power/state /sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts \
    /proc/cmdline /proc/cpuinfo /proc/meminfo /proc/iomem /proc/modules \
    /proc/sys/kernel/osrelease /proc/sys/kernel/random/boot_id /proc/driver/nvidia/version \
    "/lib/modules/$(uname -r)/modules.builtin" /etc/os-release /etc/kernel/cmdline \
    /boot/grub/grubenv /boot/grub2/grubenv /boot/loader/entries/*.conf \
    /boot/efi/loader/entries/*.conf /efi/loader/entries/*.conf /boot/loader/loader.conf \
    /boot/efi/loader/loader.conf /efi/loader/loader.conf \
    /etc/cloudstack/agent/uefi.properties >"$to/files/host" 2>/dev/null
  # of grub.cfg only this: it may carry the hash of a password
  grep -hE '^[[:space:]]*(menuentry|submenu|linux|linuxefi|initrd|set default)' \
    /boot/grub/grub.cfg /boot/grub2/grub.cfg >"$to/commands/grub-entries" 2>/dev/null

  # --- tools and services
  uname -m >"$to/commands/uname"
  for each in lspci virsh xmlstarlet nvidia-smi amd-smi xpu-smi ipmitool mokutil \
    update-initramfs mkinitramfs dracut mkinitcpio update-grub grub-mkconfig grub2-mkconfig grubby \
    grub-reboot grub2-reboot bootctl kernel-install efibootmgr mdevctl driverctl dmidecode; do
    if command -v "$each" >/dev/null 2>&1; then
      printf '%s ' "$each"
      command -v "$each"
    fi
  done >"$to/commands/tools"
  run lspci lspci -Dvvvnn
  run kernel-log sh -c 'dmesg | grep -iE "iommu|dmar|amd-vi|vfio|pcie? |bar [0-9]|sr-iov|nvrm|i915|\
amdgpu| xe |nouveau|mdev|acs |gim|hugepage|secure boot|lockdown|unknown parameter" | tail -n 5000'
  if command -v nv-fabricmanager >/dev/null 2>&1; then
    run fabric-manager journalctl -b -u nvidia-fabricmanager --no-pager -n 200 -o cat
  fi
  run secure-boot mokutil --sb-state
  run services systemctl show --no-pager -p Id,LoadState,ActiveState,UnitFileState \
    cloudstack-agent.service libvirtd.service virtqemud.service nvidia-persistenced.service \
    nvidia-fabricmanager.service nvidia-vgpu-mgr.service dcgm.service unattended-upgrades.service
  if command -v dpkg-query >/dev/null 2>&1; then
    dpkg-query -W -f '${Package} ${Version}\n' cloudstack-agent cloudstack-common libvirt-daemon \
      qemu-system-x86 qemu-system-arm pci.ids hwdata xmlstarlet
  elif command -v rpm >/dev/null 2>&1; then
    rpm -q --qf '%{NAME} %{VERSION}-%{RELEASE}\n' cloudstack-agent cloudstack-common \
      libvirt-daemon qemu-kvm hwdata xmlstarlet | grep -v 'not installed'
  else
    echo missing >"$to/commands/packages.status"
  fi >"$to/commands/packages" 2>/dev/null

  # --- who uses what: libvirt, CloudStack's agent, the vendors' tools
  run virsh-list virsh -r list --all
  if command -v virsh >/dev/null 2>&1; then
    run virsh-domains sh -c 'asked=$(virsh -r list --all --uuid | sed "/^$/d;s/^/dumpxml /" \
      | tr "\n" ";") && { [ -z "$asked" ] || virsh -r "$asked"; }'
  else
    echo missing >"$to/commands/virsh-domains.status"
  fi
  # keys of agent.properties that say how guests are made; it carries passwords too
  properties=/etc/cloudstack/agent/agent.properties
  if [ -r $properties ]; then
    grep -E '^(guest\.cpu\.(mode|model|features)|host\.reserved\.mem\.mb|host\.tags|vm\.memballoon\.disable|hypervisor\.type|zone|pod|cluster|guest\.nvram\.[a-z.]*|guest\.loader\.[a-z.]*|agent\.hooks\.[a-z_.]*)=' \
      $properties >"$to/commands/agent-properties"
  fi
  script=/usr/share/cloudstack-common/scripts/vm/hypervisor/kvm/gpudiscovery.sh
  if [ -r $script ]; then
    { sha256sum $script && grep -nE 'controller|accelerators' $script; } >"$to/commands/discovery-script"
  else
    echo 1 >"$to/commands/discovery-script.status"
    echo "$script: No such file" >"$to/commands/discovery-script.errors"
  fi
  fields=index,pci.bus_id,name,serial,uuid,memory.total,vbios_version,mig.mode.current,\
mig.mode.pending,driver_version
  run nvidia-smi nvidia-smi --query-gpu=$fields,gpu_recovery_action --format=csv
  read -r status <"$to/commands/nvidia-smi.status"
  # a driver that does not know one field answers none
  if [ "$status" = 2 ]; then
    run nvidia-smi nvidia-smi --query-gpu=$fields --format=csv
  fi
  run nvidia-mig nvidia-smi mig -lgi
  run nvidia-nvlink nvidia-smi nvlink -s
  tar -C "$to" -czf - .
}

# as a function it is read whole before it begins, also where the shell reads it from a pipe
collect </dev/null
