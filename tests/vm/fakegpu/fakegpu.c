// SPDX-License-Identifier: GPL-2.0
/*
 * fakegpu - DRM render nodes without hardware behind them, for the tests of tracer.
 *
 * Each device has three rings that drm_sched feeds. A ring works on one job after
 * the other, in order, for as long as the job says: a timer. So a machine without a
 * GPU has the events of the scheduler and of fences, syncobjs to wait for, and the
 * busy time of engines in fdinfo.
 *
 *	devices=N	how many; their rings have the same names
 */
#include <linux/dma-mapping.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem_shmem_helper.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_print.h>
#include <drm/drm_syncobj.h>
#include <drm/gpu_scheduler.h>
#include <trace/events/gpu_mem.h>

#include "fakegpu_drm.h"

#define MAX_DEVICES 4
#define CLIENT_KIB  1024 /* what each client is said to have of the device's memory */

static const char *const ring_names[FAKEGPU_N_RINGS] = { "gfx", "compute", "copy" };

struct fake_ring {
	struct drm_gpu_scheduler sched;
	struct hrtimer timer; /* runs while `jobs` is not empty */
	spinlock_t lock;      /* of `jobs` */
	spinlock_t fence_lock;
	struct list_head jobs; /* handed over, oldest first */
	u64 fence_ctx, fence_seqno;
};

struct fake_gpu {
	struct drm_device drm;
	struct platform_device *pdev;
	struct fake_ring ring[FAKEGPU_N_RINGS];
	atomic64_t bytes; /* of all clients */
};

struct fake_client {
	struct kref ref; /* of the open file, and of each job */
	struct drm_sched_entity entity[FAKEGPU_N_RINGS];
	atomic64_t busy_ns[FAKEGPU_N_RINGS];
	pid_t tgid;
};

/* What the "hardware" signals. */
struct fake_fence {
	struct dma_fence base;
	struct list_head link;
	struct fake_client *client;
	u32 ring, duration_us;
};

struct fake_job {
	struct drm_sched_job base;
	struct fake_fence *fence; /* until the job runs */
};

static unsigned int devices = 1;
module_param(devices, uint, 0444);

static struct fake_gpu *gpus[MAX_DEVICES];

static struct fake_gpu *to_gpu(struct drm_device *drm)
{
	return container_of(drm, struct fake_gpu, drm);
}

static void client_free(struct kref *ref)
{
	kfree(container_of(ref, struct fake_client, ref));
}

/* ---- the rings ---- */

static struct fake_fence *to_fence(struct dma_fence *fence)
{
	return container_of(fence, struct fake_fence, base);
}

static const char *fence_driver_name(struct dma_fence *fence)
{
	return "fakegpu";
}

static const char *fence_timeline_name(struct dma_fence *fence)
{
	return ring_names[to_fence(fence)->ring];
}

static void fence_release(struct dma_fence *base)
{
	struct fake_fence *fence = to_fence(base);

	kref_put(&fence->client->ref, client_free);
	kfree_rcu(fence, base.rcu);
}

static const struct dma_fence_ops fence_ops = {
	.get_driver_name = fence_driver_name,
	.get_timeline_name = fence_timeline_name,
	.release = fence_release,
};

/* The oldest job is done, the next one begins. */
static enum hrtimer_restart ring_timer(struct hrtimer *timer)
{
	struct fake_ring *ring = container_of(timer, struct fake_ring, timer);
	struct fake_fence *done, *next;
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	done = list_first_entry(&ring->jobs, struct fake_fence, link);
	list_del(&done->link);
	next = list_first_entry_or_null(&ring->jobs, struct fake_fence, link);
	if (next)
		hrtimer_set_expires(timer, ktime_add_us(ktime_get(), next->duration_us));
	spin_unlock_irqrestore(&ring->lock, flags);

	atomic64_add(done->duration_us * (u64)NSEC_PER_USEC, &done->client->busy_ns[done->ring]);
	dma_fence_signal(&done->base);
	dma_fence_put(&done->base);
	return next ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

static struct dma_fence *job_run(struct drm_sched_job *base)
{
	struct fake_job *job = container_of(base, struct fake_job, base);
	struct fake_ring *ring = container_of(base->sched, struct fake_ring, sched);
	struct fake_fence *fence = job->fence;
	unsigned long flags;
	bool idle;

	job->fence = NULL;
	dma_fence_init(&fence->base, &fence_ops, &ring->fence_lock, ring->fence_ctx,
		       ++ring->fence_seqno);
	dma_fence_get(&fence->base); /* the ring's own */
	spin_lock_irqsave(&ring->lock, flags);
	idle = list_empty(&ring->jobs);
	list_add_tail(&fence->link, &ring->jobs);
	if (idle)
		hrtimer_start(&ring->timer, ns_to_ktime(fence->duration_us * (u64)NSEC_PER_USEC),
			      HRTIMER_MODE_REL);
	spin_unlock_irqrestore(&ring->lock, flags);
	return &fence->base;
}

/* Never: rings have no timeout. The name of "all is well" has changed, not its number. */
static enum drm_gpu_sched_stat job_timed_out(struct drm_sched_job *base)
{
	return (enum drm_gpu_sched_stat)1;
}

static void job_discard(struct fake_job *job)
{
	if (job->fence) {
		kref_put(&job->fence->client->ref, client_free);
		kfree(job->fence);
	}
	kfree(job);
}

static void job_free(struct drm_sched_job *base)
{
	drm_sched_job_cleanup(base);
	job_discard(container_of(base, struct fake_job, base));
}

static const struct drm_sched_backend_ops sched_ops = {
	.run_job = job_run,
	.timedout_job = job_timed_out,
	.free_job = job_free,
};

/* ---- ioctl ---- */

static struct fake_job *job_new(struct fake_client *client, const struct drm_fakegpu_submit *args)
{
	struct fake_job *job = kzalloc(sizeof(*job), GFP_KERNEL);

	if (!job)
		return NULL;
	job->fence = kzalloc(sizeof(*job->fence), GFP_KERNEL);
	if (!job->fence) {
		kfree(job);
		return NULL;
	}
	kref_get(&client->ref);
	job->fence->client = client;
	job->fence->ring = args->ring;
	job->fence->duration_us = args->duration_us;
	return job;
}

static int job_init(struct fake_job *job, struct drm_file *file, u32 ring)
{
	struct fake_client *client = file->driver_priv;

	return drm_sched_job_init(&job->base, &client->entity[ring],
#ifdef HAVE_CREDITS
				  1,
#endif
				  file
#ifdef HAVE_CLIENT_ID
				  ,
				  file->client_id
#endif
	);
}

static int job_wait_for(struct fake_job *job, struct drm_file *file, u32 syncobj)
{
	struct dma_fence *fence;
	int ret;

	if (!syncobj)
		return 0;
	ret = drm_syncobj_find_fence(file, syncobj, 0, 0, &fence);
	return ret ? ret : drm_sched_job_add_dependency(&job->base, fence);
}

static int submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_fakegpu_submit *args = data;
	struct drm_syncobj *out = NULL;
	struct dma_fence *finished;
	struct fake_job *job;
	int ret;

	if (args->ring >= FAKEGPU_N_RINGS || !args->duration_us)
		return -EINVAL;
	if (args->out_syncobj) {
		out = drm_syncobj_find(file, args->out_syncobj);
		if (!out)
			return -ENOENT;
	}
	job = job_new(file->driver_priv, args);
	ret = job ? job_init(job, file, args->ring) : -ENOMEM;
	if (ret) {
		if (job)
			job_discard(job);
		goto out;
	}
	ret = job_wait_for(job, file, args->in_syncobj);
	if (ret) {
		job_free(&job->base);
		goto out;
	}

	drm_sched_job_arm(&job->base);
	finished = &job->base.s_fence->finished;
	args->fence_ctx = finished->context;
	args->fence_seqno = finished->seqno;
	if (out)
		drm_syncobj_replace_fence(out, finished);
	drm_sched_entity_push_job(&job->base);
out:
	if (out)
		drm_syncobj_put(out);
	return ret;
}

static const struct drm_ioctl_desc ioctls[] = {
	DRM_IOCTL_DEF_DRV(FAKEGPU_SUBMIT, submit_ioctl, DRM_RENDER_ALLOW),
};

/* ---- files ---- */

/* Of a client, which now has `bytes`, and of all of them: `change` more. */
static void report_memory(struct drm_device *drm, struct fake_client *client, u64 bytes, s64 change)
{
	u32 id = drm->primary ? drm->primary->index : drm->render->index;

	trace_gpu_mem_total(id, client->tgid, bytes);
	trace_gpu_mem_total(id, 0, atomic64_add_return(change, &to_gpu(drm)->bytes));
}

static int client_open(struct drm_device *drm, struct drm_file *file)
{
	struct fake_client *client = kzalloc(sizeof(*client), GFP_KERNEL);
	int i, ret;

	if (!client)
		return -ENOMEM;
	kref_init(&client->ref);
	client->tgid = task_tgid_nr(current);
	for (i = 0; i < FAKEGPU_N_RINGS; i++) {
		struct drm_gpu_scheduler *sched = &to_gpu(drm)->ring[i].sched;

		ret = drm_sched_entity_init(&client->entity[i], DRM_SCHED_PRIORITY_NORMAL, &sched,
					    1, NULL);
		if (ret)
			goto fail;
	}
	file->driver_priv = client;
	report_memory(drm, client, CLIENT_KIB << 10, CLIENT_KIB << 10);
	return 0;

fail:
	while (i--)
		drm_sched_entity_destroy(&client->entity[i]);
	kref_put(&client->ref, client_free);
	return ret;
}

static void client_close(struct drm_device *drm, struct drm_file *file)
{
	struct fake_client *client = file->driver_priv;
	int i;

	for (i = 0; i < FAKEGPU_N_RINGS; i++)
		drm_sched_entity_destroy(&client->entity[i]);
	report_memory(drm, client, 0, -(CLIENT_KIB << 10));
	kref_put(&client->ref, client_free);
}

static void client_fdinfo(struct drm_printer *p, struct drm_file *file)
{
	struct fake_client *client = file->driver_priv;
	int i;

	for (i = 0; i < FAKEGPU_N_RINGS; i++)
		drm_printf(p, "drm-engine-%s:\t%llu ns\n", ring_names[i],
			   (u64)atomic64_read(&client->busy_ns[i]));
	drm_printf(p, "drm-memory-vram:\t%u KiB\n", CLIENT_KIB);
}

#ifndef HAVE_SHOW_FDINFO
static void show_fdinfo(struct seq_file *m, struct file *filp)
{
	struct drm_file *file = filp->private_data;
	struct drm_printer p = drm_seq_file_printer(m);

	/* An id that lasts as long as the file; the kernel has none of its own yet. */
	drm_printf(&p, "drm-driver:\tfakegpu\ndrm-client-id:\t%u\n",
		   (u32)((unsigned long)file >> 6));
	client_fdinfo(&p, file);
}
#endif

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.open = drm_open,
	.release = drm_release,
	.unlocked_ioctl = drm_ioctl,
	.compat_ioctl = drm_compat_ioctl,
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.mmap = drm_gem_mmap,
#ifdef HAVE_SHOW_FDINFO
	.show_fdinfo = drm_show_fdinfo,
#else
	.show_fdinfo = show_fdinfo,
#endif
#ifdef FOP_UNSIGNED_OFFSET
	.fop_flags = FOP_UNSIGNED_OFFSET,
#endif
};

static const struct drm_driver driver = {
	.driver_features = DRIVER_GEM | DRIVER_RENDER | DRIVER_SYNCOBJ,
	.open = client_open,
	.postclose = client_close,
	.ioctls = ioctls,
	.num_ioctls = ARRAY_SIZE(ioctls),
	.fops = &fops,
#ifdef HAVE_SHOW_FDINFO
	.show_fdinfo = client_fdinfo,
#endif
	DRM_GEM_SHMEM_DRIVER_OPS,
	.name = "fakegpu",
	.desc = "test device of tracer",
	.major = 1,
#ifdef HAVE_DATE
	.date = "20260101",
#endif
};

/* ---- devices ---- */

static int ring_init(struct fake_gpu *gpu, int i)
{
	struct fake_ring *ring = &gpu->ring[i];
	struct drm_sched_init_args args = {
		.ops = &sched_ops,
		.credit_limit = 4,
		.timeout = MAX_SCHEDULE_TIMEOUT,
		.name = ring_names[i],
		.dev = &gpu->pdev->dev,
#ifdef HAVE_NUM_RQS
		.num_rqs = DRM_SCHED_PRIORITY_COUNT,
#endif
	};

	spin_lock_init(&ring->lock);
	spin_lock_init(&ring->fence_lock);
	INIT_LIST_HEAD(&ring->jobs);
	ring->fence_ctx = dma_fence_context_alloc(1);
#ifdef HAVE_HRTIMER_SETUP
	hrtimer_setup(&ring->timer, ring_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#else
	hrtimer_init(&ring->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	ring->timer.function = ring_timer;
#endif
	return drm_sched_init(&ring->sched, &args);
}

static int gpu_add(int id)
{
	struct platform_device *pdev;
	struct fake_gpu *gpu;
	int i, ret;

	pdev = platform_device_register_simple("fakegpu", id, NULL, 0);
	if (IS_ERR(pdev))
		return PTR_ERR(pdev);
	ret = dma_coerce_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(32));
	if (ret)
		goto fail;
	gpu = devm_drm_dev_alloc(&pdev->dev, &driver, struct fake_gpu, drm);
	if (IS_ERR(gpu)) {
		ret = PTR_ERR(gpu);
		goto fail;
	}
	gpu->pdev = pdev;
	for (i = 0; i < FAKEGPU_N_RINGS; i++) {
		ret = ring_init(gpu, i);
		if (ret)
			goto fail_rings;
	}
	ret = drm_dev_register(&gpu->drm, 0);
	if (ret)
		goto fail_rings;
	gpus[id] = gpu;
	return 0;

fail_rings:
	while (i--)
		drm_sched_fini(&gpu->ring[i].sched);
fail:
	platform_device_unregister(pdev);
	return ret;
}

/*
 * No file is open any more, so no job is under way. A fence that somebody still has
 * as a sync_file would point to code that is gone: tests close theirs.
 */
static void gpu_remove(struct fake_gpu *gpu)
{
	int i;

	drm_dev_unplug(&gpu->drm);
	for (i = 0; i < FAKEGPU_N_RINGS; i++) {
		hrtimer_cancel(&gpu->ring[i].timer);
		drm_sched_fini(&gpu->ring[i].sched);
	}
	platform_device_unregister(gpu->pdev);
}

static void fakegpu_exit(void)
{
	int id;

	for (id = 0; id < MAX_DEVICES; id++)
		if (gpus[id])
			gpu_remove(gpus[id]);
}

static int __init fakegpu_init(void)
{
	int id, ret = 0;

	if (!devices || devices > MAX_DEVICES)
		return -EINVAL;
	for (id = 0; id < devices && !ret; id++)
		ret = gpu_add(id);
	if (ret)
		fakegpu_exit();
	return ret;
}

module_init(fakegpu_init);
module_exit(fakegpu_exit);
MODULE_DESCRIPTION("fake GPU for the tests of tracer");
MODULE_LICENSE("GPL");
