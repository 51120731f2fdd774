/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * programs.bpf.c - TCP sockets of programs in selected control groups become MPTCP sockets, also
 * those of static, setuid and Go programs.
 *
 * The kernel calls update_socket_protocol() in socket(2), only for programs like this one (Linux
 * 6.6). A refusal of MPTCP cannot be repaired afterwards, so a socket stays TCP where the kernel
 * would refuse: in namespaces with net.mptcp.enabled = 0, and for IPv6 without CONFIG_MPTCP_IPV6.
 */
#include "kernel.h"

#define AF_INET6       10
#define SOCK_STREAM    1
#define SOCK_TYPE_MASK 0xf
#define IPPROTO_TCP    6
#define IPPROTO_MPTCP  262

#define BPF_MAP_TYPE_LPM_TRIE 11
/* Longest name of a unit, with the terminating zero. As NAME_BYTES in src/programs.rs. */
#define JP_UNIT_BYTES  128
#define JP_MOST_UNITS  4096
#define JP_MOST_GROUPS 16
/* Most levels of control groups. */
#define JP_MOST_LEVELS 24

char _license[] SEC("license") = "Dual MIT/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	const char *name;
	u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
	int level;
	struct cgroup *ancestors[];
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct nsproxy {
	struct net *net_ns;
};

struct task_struct {
	struct css_set *cgroups;
	struct nsproxy *nsproxy;
};

struct mptcp_pernet {
	u8 mptcp_enabled;
};

#pragma clang attribute pop

/* The loader writes these before the kernel verifies the program. */
const volatile u64 jp_pernet_id SEC(".rodata.pernet"); /* address of mptcp_pernet_id */
const volatile u64 jp_ipv6 SEC(".rodata.ipv6");        /* the kernel has MPTCP for IPv6 */

/* Control groups by id, with all groups below. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JP_MOST_GROUPS);
	__type(key, u64);
	__type(value, u8);
} jp_groups SEC(".maps");

/*
 * Units of the system by name, or by the start of a name. A name is looked up with its
 * terminating zero, so that `a.service` does not match `a.services`.
 */
struct jp_unit {
	u32 bits;
	char name[JP_UNIT_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, JP_MOST_UNITS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct jp_unit);
	__type(value, u8);
} jp_units SEC(".maps");

MPCC_INLINE bool jp_is_tcp(int family, int type, int protocol)
{
	return (family == AF_INET || (family == AF_INET6 && jp_ipv6)) &&
	       (type & SOCK_TYPE_MASK) == SOCK_STREAM && (!protocol || protocol == IPPROTO_TCP);
}

/* net.mptcp.enabled of the namespace in which the socket will be. */
MPCC_INLINE bool jp_is_enabled(struct task_struct *task)
{
	struct mptcp_pernet *pernet = 0;
	void *generic = BPF_CORE_READ(task, nsproxy, net_ns, gen);
	u32 id = 0;

	/* generic is a struct net_generic, which begins with an array of pointers. */
	if (bpf_probe_read_kernel(&id, sizeof(id), (void *)jp_pernet_id) ||
	    bpf_probe_read_kernel(&pernet, sizeof(pernet), generic + id * sizeof(void *)))
		return 0;
	return pernet && BPF_CORE_READ(pernet, mptcp_enabled);
}

/*
 * What a control group is. JP_SLICE: a slice, or the root. Below the first group that is no slice
 * begin the groups of users and containers, who choose their names.
 */
enum jp_kind { JP_OTHER, JP_SLICE, JP_SELECTED };

__noinline u32 jp_kind_of(u64 node, u32 level)
{
	static const char slice[] = ".slice";
	struct kernfs_node *kn = (void *)node;
	struct jp_unit unit = { .bits = 8 * JP_UNIT_BYTES };
	char tail[sizeof(slice)] = {};
	const char *name = BPF_CORE_READ(kn, name);
	long bytes;

	if (!level)
		return JP_SLICE;
	bytes = bpf_probe_read_kernel_str(unit.name, sizeof(unit.name), name);
	if (bytes < (long)sizeof(slice))
		return JP_OTHER;
	if (bpf_map_lookup_elem(&jp_units, &unit))
		return JP_SELECTED;
	if (bpf_probe_read_kernel(tail, sizeof(tail), name + bytes - sizeof(slice)))
		return JP_OTHER;
#pragma unroll
	for (u32 i = 0; i < sizeof(slice); i++) {
		if (tail[i] != slice[i])
			return JP_OTHER;
	}
	return JP_SLICE;
}

MPCC_INLINE bool jp_is_selected(struct task_struct *task)
{
	struct cgroup *group = BPF_CORE_READ(task, cgroups, dfl_cgrp);
	u32 kind = JP_SLICE, levels = BPF_CORE_READ(group, level);
	u64 ancestors = (u64)group + bpf_core_field_offset(struct cgroup, ancestors);

	for (u32 level = 0; level < JP_MOST_LEVELS && level <= levels; level++) {
		struct cgroup *ancestor = 0;
		struct kernfs_node *kn;
		u64 id;

		if (bpf_probe_read_kernel(&ancestor, sizeof(ancestor),
		                          (void *)ancestors + level * sizeof(ancestor)))
			return 0;
		kn = BPF_CORE_READ(ancestor, kn);
		id = BPF_CORE_READ(kn, id);
		if (bpf_map_lookup_elem(&jp_groups, &id))
			return 1;
		if (kind == JP_SLICE)
			kind = jp_kind_of((u64)kn, level);
		if (kind == JP_SELECTED)
			return 1;
	}
	return 0;
}

SEC("fmod_ret/update_socket_protocol")
int BPF_PROG(jp_mptcp, int family, int type, int protocol)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	if (jp_is_tcp(family, type, protocol) && jp_is_enabled(task) && jp_is_selected(task))
		return IPPROTO_MPTCP;
	/* Any other value ends the chain of programs; after 0 the next one runs, at last the kernel. */
	return 0;
}
