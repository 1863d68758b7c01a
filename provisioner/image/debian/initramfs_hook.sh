#!/bin/sh
[ "$1" = prereqs ] && exit 0
. /usr/share/initramfs-tools/hook-functions
manual_add_modules nvme ahci ata_piix sd_mod virtio_pci virtio_blk virtio_scsi ext4 \
    megaraid_sas mpt3sas smartpqi aacraid hpsa
