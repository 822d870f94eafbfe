package ledger

import "syscall"

// networkFSs are the numbers by which Linux knows them (statfs(2)).
var networkFSs = map[uint32]string{
	0x6969: "nfs", 0x517b: "smb", 0xff534d42: "cifs", 0xfe534d42: "smb2", 0x5346414f: "afs", 0x73757245: "coda",
	0x00c36400: "ceph", 0x65735546: "fuse", 0x01021997: "9p", 0x0bd00bd0: "lustre", 0x47504653: "gpfs", 0x19830326: "beegfs",
	0x20030528: "orangefs", 0x7461636f: "ocfs2", 0x01161970: "gfs2", 0x786f4256: "vboxsf", 0x6e736673: "nfsd",
}

func networkFS(path string) string {
	var fs syscall.Statfs_t
	for {
		if err := syscall.Statfs(path, &fs); err == syscall.EINTR {
			continue
		} else if err != nil {
			return ""
		}
		return networkFSs[uint32(fs.Type)]
	}
}
