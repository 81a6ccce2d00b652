/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as records of ioctls; the input is as for record_fuzz_run(). And as
 * the texts that devices are found in.
 */
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu_devices.h"
#include "gpu/gpu_ioctl.h"
#include "gpu/gpu_links.h"
#include "record_fuzz.h"

static struct gpu_links *links;

/* /proc/devices and /proc/misc are the source's other input. */
static void parse_devices(const uint8_t *data, size_t size)
{
	uint8_t class[GPU_MAX_MAJOR];
	char *text = malloc(size + 1);

	if (!text)
		return;
	memcpy(text, data, size);
	text[size] = '\0';
	gpu_majors_parse(text, class);
	for (size_t i = 0; i < GPU_MAX_MAJOR; i++)
		if (class[i] >= N_GPU_CLASSES)
			abort();
	(void)gpu_misc_minor(text, "udmabuf");
	free(text);
}

static void make_length_fit(struct event_hdr *hdr, size_t len)
{
	struct gpu_ioctl_event *ev = (struct gpu_ioctl_event *)hdr;
	struct gpu_ioctl_stack_event *stack = (void *)ev;
	size_t data = len - GPU_IOCTL_HEAD;

	ev->driver[GPU_DRIVER_NAME - 1] = '\0';
	if (ev->enter_ns > ev->hdr.time_ns)
		ev->enter_ns = ev->hdr.time_ns;
	ev->gpu_class = (uint8_t)(1 + ev->gpu_class % (N_GPU_CLASSES - 1));
	if (len < (sizeof(struct gpu_ioctl_event) + USER_STACK_HEAD)) {
		ev->hdr.type = (uint16_t)(ev->hdr.type % 2 ? GPU_IOCTL : GPU_IOCTL_UNFINISHED);
		ev->n_in = (uint8_t)(data < GPU_IOCTL_MAX_DATA ? data : GPU_IOCTL_MAX_DATA);
		data -= data < GPU_ROUND(ev->n_in) ? data : GPU_ROUND(ev->n_in);
		ev->n_out = (uint8_t)(data < GPU_IOCTL_MAX_DATA ? data : GPU_IOCTL_MAX_DATA);
		return;
	}
	ev->hdr.type = GPU_IOCTL_STACK;
	ev->n_in %= GPU_IOCTL_MAX_DATA + 1;
	ev->n_out %= GPU_IOCTL_MAX_DATA + 1;
	stack->user.has_copy = len >= (sizeof(struct gpu_ioctl_event) + USER_STACK_COPY_HEAD);
	if (stack->user.has_copy)
		stack->user.copy.len =
			(uint32_t)(len - (sizeof(struct gpu_ioctl_event) + USER_STACK_COPY_HEAD));
	else
		stack->user.n_user =
			(uint32_t)((len - (sizeof(struct gpu_ioctl_event) + USER_STACK_HEAD)) / 8);
}

static bool valid(const struct event_hdr *hdr, size_t len)
{
	return hdr->size == len && gpu_ioctl_valid(hdr, len);
}

static int encoder_new(const struct encoder_env *env, void **ret_encoder)
{
	struct gpu_ioctls *ioctls;

	if (gpu_links_new(&links) < 0 || gpu_ioctls_new(env, links, &ioctls) < 0)
		abort();
	*ret_encoder = ioctls;
	return 0;
}

static void encoder_free(void *encoder)
{
	gpu_ioctls_free(encoder);
	gpu_links_free(links);
}

static int encode(void *encoder, const struct event_hdr *hdr)
{
	const struct gpu_ioctl_event *ev = (const struct gpu_ioctl_event *)hdr;

	gpu_links_add(links, hdr->tid % 3, ev->enter_ns, ev->fd % 2, 1 + hdr->seq);
	return gpu_ioctls_encode(encoder, hdr);
}

static int flush(void *encoder, uint64_t now_ns, bool final)
{
	return gpu_ioctls_flush(encoder, now_ns, final);
}

static const struct collector ioctls_alone = {
	.valid = valid,
	.encoder_new = encoder_new,
	.encoder_free = encoder_free,
	.encode = encode,
	.flush = flush,
};

static struct record_fuzz fuzz = {
	.collector = &ioctls_alone,
	.unfinished = GPU_IOCTL_UNFINISHED,
	.fit = make_length_fit,
	.fit_from = GPU_IOCTL_HEAD,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	parse_devices(data, size);
	return record_fuzz_run(&fuzz, data, size);
}
