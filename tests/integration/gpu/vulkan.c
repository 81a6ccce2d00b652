/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vulkan.c - a small Vulkan program: fills a buffer on the device, ten times, with
 * submits and fences. Prints the calls that it makes and what they gave.
 *
 *	vulkan [loader|device]	functions from the loader's symbols, or by
 *				vkGetDeviceProcAddr() from the driver
 *
 * Exit status 77: there is no device.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

#define N_SUBMITS 10
#define SIZE	  65536

static VkDevice device;
static VkQueue queue;
static uint32_t family;
static PFN_vkQueueSubmit queue_submit;
static PFN_vkWaitForFences wait_for_fences;
static PFN_vkResetFences reset_fences;

static void must(VkResult r, const char *what)
{
	if (r == VK_SUCCESS)
		return;
	fprintf(stderr, "%s: %d\n", what, r);
	exit(1);
}

static VkPhysicalDevice find_device(void)
{
	VkApplicationInfo app = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
				  .apiVersion = VK_API_VERSION_1_1 };
	VkInstanceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
				      .pApplicationInfo = &app };
	VkInstance instance;
	VkPhysicalDevice gpu;
	uint32_t n = 1;

	if (vkCreateInstance(&info, NULL, &instance) != VK_SUCCESS ||
	    vkEnumeratePhysicalDevices(instance, &n, &gpu) < 0 || n == 0)
		exit(77);
	return gpu;
}

static void make_device(VkPhysicalDevice gpu)
{
	float priority = 1;
	VkDeviceQueueCreateInfo queues = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
					   .queueCount = 1,
					   .pQueuePriorities = &priority };
	VkDeviceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
				    .queueCreateInfoCount = 1,
				    .pQueueCreateInfos = &queues };

	must(vkCreateDevice(gpu, &info, NULL, &device), "vkCreateDevice");
	vkGetDeviceQueue(device, family, 0, &queue);
}

static VkBuffer make_buffer(VkPhysicalDevice gpu)
{
	VkBufferCreateInfo info = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
				    .size = SIZE,
				    .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT };
	VkMemoryAllocateInfo alloc = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO };
	VkMemoryRequirements needs;
	VkDeviceMemory memory;
	VkBuffer buffer;

	(void)gpu;
	must(vkCreateBuffer(device, &info, NULL, &buffer), "vkCreateBuffer");
	vkGetBufferMemoryRequirements(device, buffer, &needs);
	alloc.allocationSize = needs.size;
	while (!(needs.memoryTypeBits & 1u << alloc.memoryTypeIndex))
		alloc.memoryTypeIndex++;
	must(vkAllocateMemory(device, &alloc, NULL, &memory), "vkAllocateMemory");
	must(vkBindBufferMemory(device, buffer, memory, 0), "vkBindBufferMemory");
	return buffer;
}

static VkCommandBuffer record(VkBuffer buffer)
{
	VkCommandPoolCreateInfo pool_info = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
					      .queueFamilyIndex = family };
	VkCommandBufferAllocateInfo info = { .sType =
						     VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
					     .commandBufferCount = 1 };
	VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
					   .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT };
	VkCommandPool pool;
	VkCommandBuffer commands;

	must(vkCreateCommandPool(device, &pool_info, NULL, &pool), "vkCreateCommandPool");
	info.commandPool = pool;
	must(vkAllocateCommandBuffers(device, &info, &commands), "vkAllocateCommandBuffers");
	must(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
	vkCmdFillBuffer(commands, buffer, 0, SIZE, 0x2a2a2a2a);
	must(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
	return commands;
}

__attribute__((noinline)) static void submit(VkCommandBuffer commands, VkFence fence)
{
	VkSubmitInfo info = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
			      .commandBufferCount = 1,
			      .pCommandBuffers = &commands };

	must(queue_submit(queue, 1, &info, fence), "vkQueueSubmit");
	printf("vkQueueSubmit command_buffers=1\n");
	must(wait_for_fences(device, 1, &fence, VK_TRUE, 60000000000ull), "vkWaitForFences");
	printf("vkWaitForFences timeout_ns=60000000000\n");
	must(reset_fences(device, 1, &fence), "vkResetFences");
	/* It is reset now: this one ends in vain. */
	if (wait_for_fences(device, 1, &fence, VK_TRUE, 1) != VK_TIMEOUT)
		must(VK_INCOMPLETE, "vkWaitForFences");
	printf("vkWaitForFences timeout_ns=1 result=VK_TIMEOUT\n");
}

int main(int argc, char **argv)
{
	bool by_device = argc > 1 && strcmp(argv[1], "device") == 0;
	VkFenceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };
	VkPhysicalDevice gpu = find_device();
	VkCommandBuffer commands;
	VkFence fence;

	make_device(gpu);
	queue_submit = vkQueueSubmit;
	wait_for_fences = vkWaitForFences;
	reset_fences = vkResetFences;
	if (by_device) {
		queue_submit = (PFN_vkQueueSubmit)vkGetDeviceProcAddr(device, "vkQueueSubmit");
		wait_for_fences =
			(PFN_vkWaitForFences)vkGetDeviceProcAddr(device, "vkWaitForFences");
	}
	commands = record(make_buffer(gpu));
	must(vkCreateFence(device, &info, NULL, &fence), "vkCreateFence");
	for (int i = 0; i < N_SUBMITS; i++)
		submit(commands, fence);
	must(vkDeviceWaitIdle(device), "vkDeviceWaitIdle");
	return 0;
}
